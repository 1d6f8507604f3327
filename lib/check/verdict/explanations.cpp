#include "check/verdict/explanations.h"

#include <fmt/format.h>

#include <algorithm>

#include "check/verdict/explanation_files.h"
#include "core/error.h"
#include "core/text.h"

namespace attn {

namespace {

constexpr std::string_view kMark = "= ";

// The first line, taken off the text.
std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// Up to the next entry; the empty lines before it belong to none.
std::string_view next_body(std::string_view& text) {
  std::size_t end = text.find("\n= ");
  end = end == std::string_view::npos ? text.size() : end + 1;
  std::string_view body = text.substr(0, end);
  text.remove_prefix(end);
  while (!body.empty() && body.back() == '\n') body.remove_suffix(1);
  return body;
}

std::vector<Explanation> all_explanations() {
  std::vector<Explanation> all;
  for (const ExplanationFile& file : explanation_files()) {
    const std::vector<Explanation> some = parse_explanations(file.topic, file.text);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace

std::vector<Explanation> parse_explanations(std::string_view topic, std::string_view text) {
  std::vector<Explanation> found;
  while (!text.empty()) {
    const std::string_view mark = next_line(text);
    require_shape(mark.substr(0, kMark.size()) == kMark,
                  fmt::format("mistakes: {}: want '= NAME', got '{}'", topic, mark));
    Explanation one;
    one.topic = topic;
    one.name = mark.substr(kMark.size());
    one.what = next_line(text);
    one.cause = next_line(text);
    const bool parted = next_line(text).empty();
    one.text = next_body(text);
    require_shape(!one.what.empty() && !one.cause.empty() && parted && !one.text.empty(),
                  fmt::format("mistakes: {}: '{}' wants two lines and a text", topic, one.name));
    found.push_back(one);
  }
  return found;
}

std::span<const Explanation> explanations() {
  static const std::vector<Explanation> all = all_explanations();
  return all;
}

const Explanation* find_explanation(std::string_view name) {
  for (const Explanation& one : explanations()) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

std::vector<std::string> mistake_names() {
  std::vector<std::string> names;
  for (const Explanation& one : explanations()) names.emplace_back(one.name);
  return names;
}

std::string nearest_mistake(std::string_view typed) {
  return nearest_word(typed, mistake_names());
}

}  // namespace attn
