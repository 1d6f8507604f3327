#include "text/one_line.h"

#include <algorithm>

#include "core/text.h"

namespace attn {

std::string one_line(std::string_view text) {
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const std::size_t length = std::max<std::size_t>(1, utf8_length(text.substr(at)));
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\r') {
      line += "\\r";
    } else if (c == '\t') {
      line += "\\t";
    } else if (c == '\\') {
      line += "\\\\";
    } else {
      line += escaped(text.substr(at, length));
    }
    at += length;
  }
  return line;
}

}  // namespace attn
