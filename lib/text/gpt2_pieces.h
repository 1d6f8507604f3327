#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attn {

/// GPT-2 cuts a text into pieces before it merges within each (Radford et al. 2019, section 2.2;
/// encoder.py): the bytes of the piece that begins at `at`. In the words of its pattern
///   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
/// with letters, numbers and white space as Unicode has them (ICU). A byte that is no UTF-8 is
/// neither of the three. `at` is below the text's size.
std::size_t gpt2_piece(std::string_view text, std::size_t at);

/// GPT-2's files write each byte as a character: printable ones of Latin-1 as themselves, the other
/// 68, in order, as U+0100 ....
std::uint32_t gpt2_letter(unsigned char byte);

/// The bytes that a word of those files stands for; nothing where a character is no byte's or the
/// word is no UTF-8.
std::optional<std::string> gpt2_bytes(std::string_view word);

}  // namespace attn
