#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/index.h"

namespace attn {

/// Text from a file or a command, made safe to print: control characters and invalid UTF-8
/// become \xNN, and what is longer than `limit` bytes is cut with "...".
std::string escaped(std::string_view text, std::size_t limit = 120);

/// Bytes read as text, borrowed.
std::string_view as_text(std::span<const std::byte> bytes);

/// The parts between separators: one more than there are separators, so one empty part of an empty
/// text.
std::vector<std::string_view> split(std::string_view text, char separator);

/// "(2, 3, 4)"; "()" for a scalar.
std::string shape_text(const std::vector<Index>& shape);

/// 196608000 -> "196,608,000".
std::string grouped(Index value);

/// "187.5 MiB (196,608,000 bytes)"; under 1 KiB only "640 bytes".
std::string size_text(Index bytes);

/// "187.5 MiB" without the exact count.
std::string short_size_text(Index bytes);

/// The known word nearest to a mistyped one: within a third of its length in edits (insert,
/// delete, replace, swap neighbours), or the only one it begins. Empty if none is near.
std::string nearest_word(std::string_view typed, const std::vector<std::string>& known);

/// Length in bytes of the valid UTF-8 character at the start of text, 0 if there is none.
std::size_t utf8_length(std::string_view text);

}  // namespace attn
