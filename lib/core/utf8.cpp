#include "core/utf8.h"

#include <fmt/core.h>

#include "core/text.h"

namespace attn {

std::uint32_t code_point(std::string_view character) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(character[i]));
  };
  if (character.size() == 1) return byte(0);
  std::uint32_t code = byte(0) & (0xffU >> (character.size() + 1));
  for (std::size_t i = 1; i < character.size(); ++i) code = (code << 6) | (byte(i) & 0x3fU);
  return code;
}

std::string utf8_character(std::uint32_t code) {
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  const int following = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  // A lead byte has as many ones at its top as the character has bytes.
  std::string character(
      1, static_cast<char>((0xff00U >> (following + 1)) | (code >> (6 * following))));
  for (int i = following - 1; i >= 0; --i) {
    character += static_cast<char>(0x80U | ((code >> (6 * i)) & 0x3fU));
  }
  return character;
}

std::string character_name(std::string_view character) {
  return fmt::format("character '{}' (U+{:04X})", escaped(character), code_point(character));
}

}  // namespace attn
