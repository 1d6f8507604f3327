#include "text/spoken_text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";

// The length of the longest suffix of `text` that a stop begins with.
std::size_t begun(std::string_view text, std::string_view stop) {
  std::size_t length = std::min(text.size(), stop.size() - 1);
  while (length > 0 && !stop.starts_with(text.substr(text.size() - length))) --length;
  return length;
}

// Whether these bytes begin a character that they do not end (Unicode, table 3-7).
bool incomplete(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (bytes.empty() || byte(0) < 0xc2 || byte(0) > 0xf4) return false;
  const std::size_t length = byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
  if (bytes.size() >= length) return false;
  for (std::size_t i = 1; i < bytes.size(); ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return false;
  }
  if (bytes.size() < 2) return true;
  // No overlong form, no surrogate, nothing beyond U+10FFFF.
  const unsigned char second = byte(1);
  return !(byte(0) == 0xe0 && second < 0xa0) && !(byte(0) == 0xed && second > 0x9f) &&
         !(byte(0) == 0xf0 && second < 0x90) && !(byte(0) == 0xf4 && second > 0x8f);
}

}  // namespace

std::string TokenPieces::add(Index id) {
  const std::array<Index, 2> both{last_.value_or(id), id};
  std::string piece;
  if (last_) {
    const std::size_t before = tokenizer_.decode(std::span(both).first(1)).size();
    piece = tokenizer_.decode(both).substr(before);
  } else {
    piece = tokenizer_.decode(std::span(both).first(1));
  }
  if (!piece.empty()) last_ = id;
  return piece;
}

StopText::StopText(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (const std::string& stop : stops_) {
    if (stop.empty()) throw UsageError("a stop string must not be empty");
  }
}

std::string StopText::add(std::string_view piece) {
  if (stopped_) return {};
  held_ += piece;
  std::size_t first = std::string::npos;
  std::size_t may_begin = 0;
  for (const std::string& stop : stops_) {
    first = std::min(first, held_.find(stop));
    may_begin = std::max(may_begin, begun(held_, stop));
  }
  stopped_ = first != std::string::npos;
  const std::size_t passes = stopped_ ? first : held_.size() - may_begin;
  std::string text = held_.substr(0, passes);
  held_.erase(0, passes);
  return text;
}

std::string StopText::finish() {
  return stopped_ ? std::string() : std::exchange(held_, {});
}

std::string Utf8Text::add(std::string_view bytes) {
  held_ += bytes;
  std::string text;
  std::size_t at = 0;
  while (at < held_.size()) {
    const std::string_view rest = std::string_view(held_).substr(at);
    std::size_t length = utf8_length(rest);
    if (length > 0) {
      text += rest.substr(0, length);
    } else {
      if (incomplete(rest)) break;
      // The longest beginning of a character, or a byte that begins none.
      length = std::min<std::size_t>(rest.size(), 3);
      while (length > 1 && !incomplete(rest.substr(0, length))) --length;
      text += kReplacement;
    }
    at += length;
  }
  held_.erase(0, at);
  return text;
}

std::string Utf8Text::finish() {
  return std::exchange(held_, {}).empty() ? "" : kReplacement;
}

}  // namespace attn
