#include "io/npy.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "core/text.h"

namespace attn {

static_assert(std::endian::native == std::endian::little, "numbers are written as memory has them");

namespace {

// `descr` as NumPy has it: "<f4".
std::vector<std::byte> npy_file(const Shape& shape, std::string_view descr,
                                std::span<const std::byte> values) {
  // A Python tuple: "()", "(3,)", "(2, 3)".
  std::string extents;
  for (const Index extent : shape) extents += fmt::format("{}, ", extent);
  if (shape.size() == 1) extents.pop_back();
  if (shape.size() > 1) extents.resize(extents.size() - 2);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, extents);
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
  std::vector<std::byte> bytes(start.size() + values.size());
  std::memcpy(bytes.data(), start.data(), start.size());
  if (!values.empty()) std::memcpy(bytes.data() + start.size(), values.data(), values.size());
  return bytes;
}

}  // namespace

template <class T>
std::vector<std::byte> npy_bytes(const Shape& shape, std::span<const T> values) {
  const char kind = std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
  const char order = sizeof(T) == 1 ? '|' : '<';
  return npy_file(shape, fmt::format("{}{}{}", order, kind, sizeof(T)), std::as_bytes(values));
}

std::vector<std::byte> npy_bytes(const Shape& shape, DType type,
                                 std::span<const std::byte> values) {
  const Index bytes = dtype_bytes(type);
  const std::string_view name = dtype_name(type);
  const char kind = type == DType::kBF16 ? 'V' : name.front();  // f, i, u or b
  return npy_file(shape, fmt::format("{}{}{}", bytes == 1 ? '|' : '<', kind, bytes), values);
}

std::vector<std::byte> npy_text(std::string_view text) {
  // UTF-32, decoded from UTF-8; what is none becomes a replacement character.
  std::vector<std::uint32_t> letters;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto byte = [&](std::size_t i) {
      return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
    };
    constexpr std::uint32_t kReplacement = 0xfffd;
    std::uint32_t letter = kReplacement;
    if (length == 1) letter = byte(0);
    if (length > 1) {
      letter = byte(0) & (0xffU >> (length + 1));
      for (std::size_t i = 1; i < length; ++i) letter = letter << 6U | (byte(i) & 0x3fU);
    }
    letters.push_back(letter);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  if (letters.empty()) letters.push_back(0);
  return npy_file({}, fmt::format("<U{}", letters.size()), std::as_bytes(std::span(letters)));
}

template std::vector<std::byte> npy_bytes(const Shape&, std::span<const float>);
template std::vector<std::byte> npy_bytes(const Shape&, std::span<const double>);
template std::vector<std::byte> npy_bytes(const Shape&, std::span<const std::int64_t>);
template std::vector<std::byte> npy_bytes(const Shape&, std::span<const std::uint64_t>);
template std::vector<std::byte> npy_bytes(const Shape&, std::span<const std::int32_t>);
template std::vector<std::byte> npy_bytes(const Shape&, std::span<const std::uint8_t>);

}  // namespace attn
