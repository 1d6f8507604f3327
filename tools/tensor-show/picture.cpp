#include "tensor-show/picture.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "cli/picture.h"
#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

constexpr Index kMostMaps = 64;
constexpr Index kMostCells = 17;  // of a line that is drawn as one row

// Where the i-th matrix of a stack stands along the leading axes.
Shape place_of(Index i, const Shape& leading) {
  Shape place(leading.size());
  for (std::size_t axis = leading.size(); axis-- > 0; i /= leading[axis]) {
    place[axis] = i % leading[axis];
  }
  return place;
}

std::string curve_of(const std::string& name, const std::vector<float>& values,
                     const cli::Terminal& terminal) {
  return cli::chart(
      {.title = name, .curves = {{"value", {values.begin(), values.end()}}}, .x_is = "index"},
      terminal);
}

}  // namespace

std::string tensor_picture(const std::string& name, const Shape& shape,
                           const std::vector<float>& values, const cli::Terminal& terminal) {
  const Shape leading(shape.begin(), shape.end() - std::min<std::ptrdiff_t>(2, std::ssize(shape)));
  const Index count = checked_product(leading).value_or(kMostMaps + 1);
  if (count > kMostMaps) {
    throw UsageError(fmt::format("--show draws a matrix or up to {} of them, not shape {}",
                                 kMostMaps, shape_text(shape)),
                     {fmt::format("choose a part: --slice {}",
                                  leading.size() == 1
                                      ? fmt::format("0:{}", kMostMaps)
                                      : fmt::format("{}", fmt::join(Shape(leading.size()), ",")))});
  }
  const Index cols = shape.empty() ? 1 : shape.back();
  const Index rows = shape.size() < 2 ? 1 : shape[shape.size() - 2];
  if (count * rows == 1 && cols > kMostCells) return curve_of(name, values, terminal);

  std::vector<std::uint8_t> hidden;
  hidden.reserve(values.size());
  float least = 0;
  float largest = 0;
  for (const float value : values) {
    hidden.push_back(std::isinf(value) && value < 0 ? 1 : 0);
    if (!std::isfinite(value)) continue;
    least = std::min(least, value);
    largest = std::max(largest, std::abs(value));
  }
  std::vector<cli::HeatMap> maps;
  for (Index i = 0; i < count; ++i) {
    const Index at = i * rows * cols;
    const Shape place = place_of(i, leading);
    cli::HeatMap map;
    map.title = count > 1 ? fmt::format("[{}]", fmt::join(place, ", ")) : name;
    map.values = {values.data() + at, rows, cols};
    map.hidden = {hidden.data() + at, rows, cols};
    map.hidden_is = "-inf";
    map.low = least < 0 ? -static_cast<double>(largest) : 0.0;
    map.high = largest > 0 ? static_cast<double>(largest) : 1.0;
    map.argmax = false;
    maps.push_back(std::move(map));
  }
  return cli::heat_maps(maps, terminal);
}

}  // namespace attn
