#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "io/number_bytes.h"
#include "model/position_tables.h"

namespace attn {

PositionTables rounded_to(DType dtype, PositionTables tables) {
  tables.dtype = dtype;
  for (PositionPart& part : tables.parts) {
    if (part.kept != PositionPart::Kept::kAsAsked || dtype == DType::kF64) continue;
    for (double& value : part.values.values) {
      const float single = static_cast<float>(value);
      value = static_cast<double>(dtype == DType::kF16    ? f16_to_float(float_to_f16(single))
                                  : dtype == DType::kBF16 ? bf16_to_float(float_to_bf16(single))
                                                          : single);
    }
  }
  return tables;
}

namespace {

// "position" is counted by /positions, "query" by /queries.
std::string scale_of(const std::string& axis) {
  return axis == "query" ? "/queries" : fmt::format("/{}s", axis);
}

std::vector<std::int32_t> places(const PositionTables& tables, const std::string& axis,
                                 Index extent) {
  std::vector<std::int32_t> all;
  for (Index i = 0; i < extent; ++i) {
    const bool named = axis == "position" && !tables.positions.empty();
    all.push_back(
        static_cast<std::int32_t>(named ? tables.positions[static_cast<std::size_t>(i)] : i));
  }
  return all;
}

}  // namespace

void write_position_tables(Hdf5Writer& writer, const PositionTables& tables) {
  std::vector<std::string> scales;
  for (const PositionPart& part : tables.parts) {
    const std::string path = fmt::format("/{}", part.name);
    if (part.kept == PositionPart::Kept::kWhole) {
      const std::vector<std::int32_t> whole(part.values.values.begin(), part.values.values.end());
      writer.dataset(path, part.values.shape, whole.data());
    } else {
      const bool exact = part.kept == PositionPart::Kept::kExactly;
      const DType kept = exact ? DType::kF64 : tables.dtype;
      const std::span<const double> values(part.values.values);
      writer.dataset(path, part.values.shape, kept, *number_bytes(values, kept));
    }
    for (std::size_t axis = 0; axis < part.axes.size(); ++axis) {
      const Index extent = part.values.shape[axis];
      const std::string scale = scale_of(part.axes[axis]);
      if (std::find(scales.begin(), scales.end(), scale) == scales.end()) {
        writer.dataset(scale, Shape{extent}, places(tables, part.axes[axis], extent).data());
        scales.push_back(scale);
      }
      writer.scale(path, static_cast<Index>(axis), scale, part.axes[axis]);
    }
  }
  writer.attribute("/", "kind", tables.kind);
  for (const auto& attribute : tables.attributes) {
    std::visit([&](const auto& value) { writer.attribute("/", attribute.first, value); },
               attribute.second);
  }
}

}  // namespace attn
