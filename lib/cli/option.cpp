#include "cli/option.h"

#include <utility>

namespace attn::cli {

Option& Option::letter(char short_form) {
  letter_ = short_form;
  return *this;
}
Option& Option::required() {
  required_ = true;
  return *this;
}
Option& Option::repeatable() {
  repeatable_ = true;
  return *this;
}
Option& Option::not_data() {
  changes_data_ = false;
  return *this;
}
Option& Option::takes_operands() {
  takes_operands_ = true;
  return repeatable();
}

Option& Option::operand() {
  operand_ = true;
  return *this;
}
Option& Option::may_be_output() {
  may_be_output_ = true;
  return *this;
}
Option& Option::before_others() {
  before_others_ = true;
  return *this;
}
Option& Option::may_be_empty() {
  may_be_empty_ = true;
  return *this;
}
Option& Option::default_is(std::string words) {
  default_ = std::move(words);
  return *this;
}
Option& Option::completes(std::vector<std::string> words) {
  return completes_from([words = std::move(words)] { return words; });
}
Option& Option::completes_from(std::function<std::vector<std::string>()> words) {
  completions_ = std::move(words);
  return *this;
}
Option& Option::argument(std::string word) {
  argument_ = std::move(word);
  return *this;
}
Option& Option::above(double limit) {
  reals_.lowest = limit;
  reals_.open_low = true;
  return *this;
}
Option& Option::below(double limit) {
  reals_.highest = limit;
  reals_.open_high = true;
  return *this;
}

}  // namespace attn::cli
