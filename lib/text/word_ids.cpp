#include "text/word_ids.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

constexpr Index kMostWords = Index{1} << 24;

// {"word": id, ...} and nothing else, each word once.
class VocabularyReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::unordered_map<std::string, Index> ids;
  std::string fault;

  bool null() override { return no_id(); }
  bool boolean(bool) override { return no_id(); }
  bool number_integer(number_integer_t id) override { return add(id); }
  bool number_unsigned(number_unsigned_t id) override {
    return add(id < static_cast<number_unsigned_t>(kMostWords) ? static_cast<Index>(id)
                                                               : kMostWords);
  }
  bool number_float(number_float_t, const string_t&) override { return no_id(); }
  bool string(string_t&) override { return no_id(); }
  bool binary(binary_t&) override { return no_id(); }
  bool start_object(std::size_t) override { return ++depth_ == 1 || no_id(); }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return no_id(); }
  bool end_array() override { return true; }
  bool key(string_t& word) override {
    word_ = word;
    return true;
  }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::json::exception&) override {
    fault = fmt::format("is no JSON at byte {}", at);
    return false;
  }

 private:
  bool no_id() {
    fault = depth_ == 0
                ? "is no JSON object of words and ids"
                : fmt::format("the word '{}' has no whole number as its id", escaped(word_));
    return false;
  }
  bool add(Index id) {
    if (depth_ == 0) return no_id();
    if (id < 0 || id >= kMostWords) {
      fault =
          fmt::format("the word '{}' has an id outside 0 .. {}", escaped(word_), kMostWords - 1);
      return false;
    }
    if (!ids.emplace(word_, id).second) {
      fault = fmt::format("has the word '{}' twice", escaped(word_));
      return false;
    }
    return true;
  }

  std::string word_;
  int depth_ = 0;
};

}  // namespace

std::unordered_map<std::string, Index> read_word_ids(std::string_view json) {
  VocabularyReader reader;
  if (!nlohmann::json::sax_parse(json, &reader)) {
    throw DataError(fmt::format("the vocabulary {}", reader.fault));
  }
  return std::move(reader.ids);
}

}  // namespace attn
