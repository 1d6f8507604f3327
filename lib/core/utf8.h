#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace attn {

/// The code point of one valid UTF-8 character.
std::uint32_t code_point(std::string_view character);

/// The UTF-8 character of a code point (not a surrogate, at most U+10FFFF).
std::string utf8_character(std::uint32_t code);

/// "character '€' (U+20AC)": how messages call a valid character.
std::string character_name(std::string_view character);

}  // namespace attn
