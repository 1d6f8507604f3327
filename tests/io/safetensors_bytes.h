#pragma once

#include <cstdint>
#include <string>

namespace attn {

/// The 8 bytes, smallest first, that say how long a safetensors header is.
inline std::string length_bytes(std::uint64_t length) {
  std::string prefix;
  for (int i = 0; i < 8; ++i) prefix += static_cast<char>(length >> (8 * i) & 0xffU);
  return prefix;
}

/// A whole file: the header behind its length, then the data.
inline std::string packed(const std::string& header, const std::string& data) {
  return length_bytes(header.size()) + header + data;
}

}  // namespace attn
