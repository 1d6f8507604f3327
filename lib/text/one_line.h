#pragma once

#include <string>
#include <string_view>

namespace attn {

/// A text on one line: a line end becomes \n, a carriage return \r, a tab \t, a backslash \\, other
/// control characters and invalid UTF-8 \xNN. Two texts never give the same line.
std::string one_line(std::string_view text);

}  // namespace attn
