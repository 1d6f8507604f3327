#include "text/gpt2_pieces.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <unordered_map>

#include "core/text.h"
#include "core/utf8.h"

namespace attn {
namespace {

enum class Kind { kLetter, kNumber, kSpace, kOther };

struct Character {
  Kind kind = Kind::kOther;
  std::size_t length = 1;
};

Kind kind_of(std::uint32_t code) {
  const auto point = static_cast<UChar32>(code);
  const std::uint32_t category = U_GET_GC_MASK(point);
  if ((category & U_GC_L_MASK) != 0) return Kind::kLetter;
  if ((category & U_GC_N_MASK) != 0) return Kind::kNumber;
  return u_isUWhiteSpace(point) != 0 ? Kind::kSpace : Kind::kOther;
}

// Most characters of most texts are ASCII.
const std::array<Kind, 128>& ascii_kinds() {
  static const std::array<Kind, 128> kinds = [] {
    std::array<Kind, 128> all{};
    for (std::uint32_t code = 0; code < all.size(); ++code) all[code] = kind_of(code);
    return all;
  }();
  return kinds;
}

Character character_at(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {ascii_kinds()[lead], 1};
  const std::size_t length = utf8_length(text.substr(at));
  if (length == 0) return {Kind::kOther, 1};
  return {kind_of(code_point(text.substr(at, length))), length};
}

// Where the run of one kind that begins at `at` ends.
std::size_t end_of_run(std::string_view text, std::size_t at, Kind kind) {
  while (at < text.size()) {
    const Character next = character_at(text, at);
    if (next.kind != kind) break;
    at += next.length;
  }
  return at;
}

// White space, but for its last character where a word follows: that one may belong to the word.
std::size_t space_piece(std::string_view text, std::size_t at) {
  std::size_t end = at;
  std::size_t last = at;  // where the last character begins
  while (end < text.size()) {
    const Character next = character_at(text, end);
    if (next.kind != Kind::kSpace) break;
    last = end;
    end += next.length;
  }
  const bool keeps_all = end == text.size() || last == at;
  return (keeps_all ? end : last) - at;
}

std::size_t contraction(std::string_view rest) {
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (rest.starts_with(ending)) return ending.size();
  }
  return 0;
}

}  // namespace

std::size_t gpt2_piece(std::string_view text, std::size_t at) {
  if (text[at] == '\'') {
    const std::size_t length = contraction(text.substr(at));
    if (length > 0) return length;
  }
  const std::size_t word = at + (text[at] == ' ' ? 1 : 0);
  if (word < text.size()) {
    const Character first = character_at(text, word);
    if (first.kind != Kind::kSpace) return end_of_run(text, word, first.kind) - at;
  }
  return space_piece(text, at);
}

std::uint32_t gpt2_letter(unsigned char byte) {
  const auto prints = [](unsigned code) {
    return (code > 0x20 && code < 0x7f) || (code > 0xa0 && code != 0xad);
  };
  if (prints(byte)) return byte;
  std::uint32_t others = 0;
  for (unsigned code = 0; code < byte; ++code) others += prints(code) ? 0U : 1U;
  return 0x100 + others;
}

std::optional<std::string> gpt2_bytes(std::string_view word) {
  static const std::unordered_map<std::uint32_t, char> bytes = [] {
    std::unordered_map<std::uint32_t, char> all;
    for (unsigned byte = 0; byte < 256; ++byte) {
      all[gpt2_letter(static_cast<unsigned char>(byte))] = static_cast<char>(byte);
    }
    return all;
  }();
  std::string found;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t length = utf8_length(word.substr(at));
    if (length == 0) return std::nullopt;
    const auto byte = bytes.find(code_point(word.substr(at, length)));
    if (byte == bytes.end()) return std::nullopt;
    found += byte->second;
    at += length;
  }
  return found;
}

}  // namespace attn
