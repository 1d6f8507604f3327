#include "io/npy.h"

#include <fmt/core.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

namespace attn {

static_assert(std::endian::native == std::endian::little, "numbers are written as memory has them");

template <class T>
std::vector<std::byte> npy_bytes(const Shape& shape, std::span<const T> values) {
  const char kind = std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
  const char order = sizeof(T) == 1 ? '|' : '<';
  // A Python tuple: "()", "(3,)", "(2, 3)".
  std::string extents;
  for (const Index extent : shape) extents += fmt::format("{}, ", extent);
  if (shape.size() == 1) extents.pop_back();
  if (shape.size() > 1) extents.resize(extents.size() - 2);
  std::string header = fmt::format("{{'descr': '{}{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   order, kind, sizeof(T), extents);
  // Magic, version, 2 bytes of length, header and its line end fill a multiple of 64 bytes.
  constexpr std::size_t kBefore = 10;
  constexpr std::size_t kAlign = 64;
  const std::size_t used = kBefore + header.size() + 1;
  header.append((kAlign - used % kAlign) % kAlign, ' ');
  header.push_back('\n');
  std::string start = "\x93NUMPY";
  start += {'\x01', '\x00', static_cast<char>(header.size() & 0xffU),
            static_cast<char>(header.size() >> 8)};
  start += header;
  std::vector<std::byte> bytes(start.size() + values.size_bytes());
  std::memcpy(bytes.data(), start.data(), start.size());
  if (!values.empty()) {
    std::memcpy(bytes.data() + start.size(), values.data(), values.size_bytes());
  }
  return bytes;
}

template std::vector<std::byte> npy_bytes(const Shape&, std::span<const float>);
template std::vector<std::byte> npy_bytes(const Shape&, std::span<const double>);
template std::vector<std::byte> npy_bytes(const Shape&, std::span<const std::int64_t>);
template std::vector<std::byte> npy_bytes(const Shape&, std::span<const std::uint64_t>);
template std::vector<std::byte> npy_bytes(const Shape&, std::span<const std::int32_t>);
template std::vector<std::byte> npy_bytes(const Shape&, std::span<const std::uint8_t>);

}  // namespace attn
