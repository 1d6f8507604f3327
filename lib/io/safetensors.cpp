#include "io/safetensors.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

constexpr std::size_t kPrefix = 8;  // bytes of the header's length
constexpr std::uint64_t kLongestHeader = 100000000;

// The header's text. What stands in its place is named where it is a usual mistake.
std::string_view header_text(const ByteSource& source) {
  const std::string_view all = as_text(source.bytes());
  if (all.size() < kPrefix) {
    throw DataError(
        fmt::format("{}: too short for a safetensors header: {} bytes", source.name(), all.size()));
  }
  std::uint64_t length = 0;
  for (std::size_t i = kPrefix; i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>(all[i]);
  }
  if (length <= all.size() - kPrefix && length <= kLongestHeader) {
    return all.substr(kPrefix, static_cast<std::size_t>(length));
  }
  if (all.starts_with("version https://git-lfs")) {
    throw DataError(fmt::format(
        "{}: no safetensors header: a Git LFS pointer stands in place of the file", source.name()));
  }
  const std::string bytes = fmt::format("{} {}", length, length == 1 ? "byte" : "bytes");
  throw DataError(
      length > all.size() - kPrefix
          ? fmt::format("{}: its safetensors header would be {} long, beyond the file's {}",
                        source.name(), bytes, all.size())
          : fmt::format("{}: its safetensors header is {} long, over the limit of {}",
                        source.name(), bytes, kLongestHeader));
}

template <class T>
T number_at(const std::byte* from, DType type, Index index) {
  const auto load = [&](auto value) {
    std::memcpy(&value, from + index * static_cast<Index>(sizeof value), sizeof value);
    return value;
  };
  switch (type) {
    case DType::kF64:
      return static_cast<T>(load(double{}));
    case DType::kF16:
      return static_cast<T>(f16_to_float(load(std::uint16_t{})));
    case DType::kBF16:
      return static_cast<T>(bf16_to_float(load(std::uint16_t{})));
    default:
      return static_cast<T>(load(float{}));
  }
}

}  // namespace

SafetensorsFile SafetensorsFile::open(const std::string& argument, Index max_bytes) {
  return SafetensorsFile(ByteSource::open(argument, max_bytes));
}

SafetensorsFile SafetensorsFile::from_bytes(std::vector<std::byte> bytes, const std::string& name) {
  return SafetensorsFile(ByteSource::from_bytes(std::move(bytes), name));
}

SafetensorsFile::SafetensorsFile(ByteSource source) : source_(std::move(source)) {
  const std::string_view text = header_text(source_);
  data_ = static_cast<Index>(kPrefix + text.size());
  header_ = parse_safetensors_header(text, static_cast<Index>(source_.bytes().size()) - data_,
                                     source_.name());
}

template <class T>
void SafetensorsFile::read(const SafetensorsEntry& entry, T* out) const {
  const auto fail = [&](const std::string& what) {
    throw DataError(fmt::format("{}: '{}': {}", name(), escaped(entry.name), what));
  };
  if (!entry.type || !is_floating(*entry.type)) {
    fail(fmt::format("wanted F32, F16, BF16 or F64, its dtype is {}", entry.type_name));
  }
  const Index first = data_ + entry.begin;
  const std::byte* from = source_.bytes().data() + first;
  const Index count = (entry.end - entry.begin) / dtype_bytes(*entry.type);
  constexpr Index kBlock = Index{1} << 20;  // bytes of the file are given back as they are used
  const Index width = dtype_bytes(*entry.type);
  for (Index i = 0; i < count; ++i) {
    out[i] = number_at<T>(from, *entry.type, i);
    if (!std::isfinite(out[i])) {
      fail(fmt::format("not finite: number {} of {} is {}", i, count, out[i]));
    }
    if ((i + 1) % kBlock == 0) source_.forget(first + (i + 1 - kBlock) * width, kBlock * width);
  }
  source_.forget(first, entry.end - entry.begin);
}

template void SafetensorsFile::read<float>(const SafetensorsEntry&, float*) const;
template void SafetensorsFile::read<double>(const SafetensorsEntry&, double*) const;

}  // namespace attn
