#include "io/tensor_slice.h"

#include <fmt/core.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

[[noreturn]] void fail(std::string_view entry, std::string_view why) {
  throw UsageError(fmt::format("--slice: '{}' {}", escaped(entry), why),
                   {"one entry for each axis: an index, or first:end or first:end:step, as in "
                    "'0,:,3:5'"});
}

// Nothing for an empty text.
std::optional<Index> number(std::string_view text, std::string_view entry) {
  text = trimmed(text);
  if (text.empty()) return std::nullopt;
  Index value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) fail(entry, "is no index");
  return value;
}

}  // namespace

TensorSlice::TensorSlice(const Shape& shape) : whole_(shape) {
  for (const Index extent : shape) axes_.push_back({0, extent, 1, false});
}

TensorSlice::Axis TensorSlice::parse_axis(std::string_view entry, std::size_t axis, Index extent) {
  const auto outside = [&] {
    fail(entry, fmt::format("leaves axis {} of length {}", axis, extent));
  };
  const std::vector<std::string_view> parts = split(entry, ':');
  // Indices below 0 count from the end.
  const auto place = [&](std::string_view text, Index otherwise) {
    const auto value = number(text, entry);
    if (!value) return otherwise;
    return *value < 0 ? *value + extent : *value;
  };
  if (parts.size() == 1) {
    if (trimmed(entry).empty()) fail(entry, "is no index");
    const Index at = place(entry, 0);
    if (at < 0 || at >= extent) outside();
    return {at, 1, 1, true};
  }
  if (parts.size() > 3) fail(entry, "has too many parts");
  const Index first = place(parts[0], 0);
  const Index end = place(parts[1], extent);
  const Index step = parts.size() == 3 ? number(parts[2], entry).value_or(1) : 1;
  if (step < 1) fail(entry, "needs a step of 1 or more");
  if (first < 0 || first > extent || end < 0 || end > extent) outside();
  const Index span = end > first ? end - first : 0;
  return {first, span / step + (span % step != 0 ? 1 : 0), step, false};
}

TensorSlice TensorSlice::parse(std::string_view text, const Shape& shape) {
  TensorSlice slice(shape);
  const std::vector<std::string_view> entries = split(text, ',');
  if (entries.size() > shape.size()) {
    throw UsageError(fmt::format("--slice: '{}' names {} axes, the tensor of shape {} has {}",
                                 escaped(text), entries.size(), shape_text(shape), shape.size()));
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    slice.axes_[i] = parse_axis(entries[i], i, shape[i]);
  }
  return slice;
}

Shape TensorSlice::shape() const {
  Shape part;
  for (const Axis& axis : axes_) {
    if (!axis.gone) part.push_back(axis.count);
  }
  return part;
}

Shape TensorSlice::source(const Shape& part) const {
  Shape at;
  std::size_t next = 0;
  for (const Axis& axis : axes_) {
    at.push_back(axis.gone ? axis.start : axis.start + part[next++] * axis.step);
  }
  return at;
}

template <class T>
Tensor<T> TensorSlice::read(const TensorFile& file, std::string_view path) const {
  Tensor<T> part(shape());
  if (part.values.empty()) return part;
  Index row_size = 1;
  for (std::size_t i = 1; i < whole_.size(); ++i) row_size *= whole_[i];
  const Axis rows = axes_.empty() ? Axis{0, 1, 1, true} : axes_.front();
  std::vector<T> row(static_cast<std::size_t>(row_size));
  T* out = part.data();
  for (Index r = 0; r < rows.count; ++r) {
    file.read_rows(path, rows.start + r * rows.step, 1, row.data());
    // Odometer over the remaining axes, the last one fastest.
    Shape at(axes_.size());
    while (true) {
      Index from = 0;
      for (std::size_t i = 1; i < axes_.size(); ++i) {
        from = from * whole_[i] + axes_[i].start + at[i] * axes_[i].step;
      }
      *out++ = row[static_cast<std::size_t>(from)];
      std::size_t axis = axes_.size();
      while (axis > 1 && ++at[axis - 1] == axes_[axis - 1].count) at[--axis] = 0;
      if (axis <= 1) break;
    }
  }
  return part;
}

template Tensor<float> TensorSlice::read(const TensorFile&, std::string_view) const;
template Tensor<double> TensorSlice::read(const TensorFile&, std::string_view) const;
template Tensor<std::int64_t> TensorSlice::read(const TensorFile&, std::string_view) const;
template Tensor<std::uint64_t> TensorSlice::read(const TensorFile&, std::string_view) const;
template Tensor<std::int32_t> TensorSlice::read(const TensorFile&, std::string_view) const;
template Tensor<std::uint8_t> TensorSlice::read(const TensorFile&, std::string_view) const;

}  // namespace attn
