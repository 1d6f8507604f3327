#include "check/reference/tensor_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

struct Known {
  TensorLayout layout;
  const char* name;
  const char* axes;
};
constexpr std::array<Known, 4> kKnown = {
    {{TensorLayout::kBhsd, "BHSD", "(batch, heads, rows, features)"},
     {TensorLayout::kBshd, "BSHD", "(batch, rows, heads, features)"},
     {TensorLayout::kNbd, "NBD", "(rows, batch, heads * features)"},
     {TensorLayout::kBnd, "BND", "(batch, rows, heads * features)"}}};

const Known& known(TensorLayout layout) {
  return *std::find_if(kKnown.begin(), kKnown.end(),
                       [&](const Known& one) { return one.layout == layout; });
}

// Of a tensor whose values stay in a file.
Tensor<double> shape_alone(Shape shape) {
  Tensor<double> tensor;
  tensor.shape = std::move(shape);
  return tensor;
}

// Axes 0 and 1 of (x, y, features) swapped.
Tensor<double> swap_outer(const Tensor<double>& from) {
  const Index features = from.dim(2);
  if (from.values.empty()) return shape_alone({from.dim(1), from.dim(0), features});
  Tensor<double> to({from.dim(1), from.dim(0), features});
  for (Index x = 0; x < from.dim(0); ++x) {
    for (Index y = 0; y < from.dim(1); ++y) {
      std::copy_n(from.data() + (x * from.dim(1) + y) * features, features,
                  to.data() + (y * from.dim(0) + x) * features);
    }
  }
  return to;
}

[[noreturn]] void refuse(const Tensor<double>& tensor, const std::string& want) {
  throw DataError(fmt::format("want {}, got shape {}", want, shape_text(tensor.shape)));
}

// (batch, rows, heads * features) or what fewer axes stand for.
Tensor<double> from_joined(Tensor<double> tensor, TensorLayout layout, Index heads) {
  if (tensor.rank() == 0 || tensor.rank() > 3) refuse(tensor, layout_axes(layout));
  while (tensor.rank() < 3) {
    // What is not there is the batch, wherever it stands.
    const auto at = tensor.rank() == 2 && layout == TensorLayout::kNbd ? 1 : 0;
    tensor.shape.insert(tensor.shape.begin() + at, 1);
  }
  if (layout == TensorLayout::kNbd) tensor = swap_outer(tensor);
  if (heads < 1 || tensor.dim(2) % heads != 0) {
    refuse(tensor, fmt::format("a last axis that {} heads divide", heads));
  }
  tensor.shape = {tensor.dim(0), tensor.dim(1), heads, tensor.dim(2) / heads};
  return swap_layout(tensor);
}

}  // namespace

std::optional<TensorLayout> parse_layout(std::string_view word) {
  std::string upper(word);
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  for (const Known& one : kKnown) {
    if (upper == one.name) return one.layout;
  }
  return std::nullopt;
}

const char* layout_name(TensorLayout layout) {
  return known(layout).name;
}

const char* layout_axes(TensorLayout layout) {
  return known(layout).axes;
}

bool heads_are_joined(TensorLayout layout) {
  return layout == TensorLayout::kNbd || layout == TensorLayout::kBnd;
}

Tensor<double> to_bhsd(Tensor<double> tensor, TensorLayout layout, Index heads) {
  if (heads_are_joined(layout)) return from_joined(std::move(tensor), layout, heads);
  if (tensor.rank() == 0 || tensor.rank() > 4) refuse(tensor, layout_axes(layout));
  const bool swap = layout == TensorLayout::kBshd && tensor.rank() > 2;
  while (tensor.rank() < 4) tensor.shape.insert(tensor.shape.begin(), 1);
  return swap ? swap_layout(tensor) : tensor;
}

Tensor<double> from_bhsd(const Tensor<double>& tensor, TensorLayout layout) {
  if (layout == TensorLayout::kBhsd) return tensor;
  Tensor<double> swapped = swap_layout(tensor);
  if (layout == TensorLayout::kBshd) return swapped;
  swapped.shape = {swapped.dim(0), swapped.dim(1), swapped.dim(2) * swapped.dim(3)};
  return layout == TensorLayout::kNbd ? swap_outer(swapped) : swapped;
}

Tensor<double> swap_layout(const Tensor<double>& tensor) {
  const Shape& from = tensor.shape;
  require_shape(from.size() == 4, "swap_layout: want 4 axes");
  if (tensor.values.empty()) return shape_alone({from[0], from[2], from[1], from[3]});
  Tensor<double> swapped({from[0], from[2], from[1], from[3]});
  const Index features = from[3];
  for (Index b = 0; b < from[0]; ++b) {
    for (Index x = 0; x < from[1]; ++x) {
      for (Index y = 0; y < from[2]; ++y) {
        std::copy_n(tensor.data() + ((b * from[1] + x) * from[2] + y) * features, features,
                    swapped.data() + ((b * from[2] + y) * from[1] + x) * features);
      }
    }
  }
  return swapped;
}

}  // namespace attn
