#include "tensor-diff/picture.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "cli/picture.h"
#include "core/text.h"
#include "io/tensor_summary.h"

namespace attn {
namespace {

constexpr std::size_t kMostMaps = 16;
constexpr Index kMostCells = 17;  // of a vector that is drawn as one row

double largest_of(const std::vector<float>& distances) {
  float largest = 0;
  for (const float one : distances) {
    if (std::isfinite(one)) largest = std::max(largest, one);
  }
  return largest > 0 ? static_cast<double>(largest) : 1.0;
}

// A curve has no mark for what is not finite.
std::string nonfinite_line(const std::vector<float>& distances) {
  constexpr std::size_t kMostNamed = 8;
  std::vector<std::size_t> named;
  Index count = 0;
  for (std::size_t i = 0; i < distances.size(); ++i) {
    if (std::isfinite(distances[i])) continue;
    ++count;
    if (named.size() < kMostNamed) named.push_back(i);
  }
  if (count == 0) return "";
  return fmt::format("  not drawn: {}, where one side is not finite: {}{}\n",
                     count == 1 ? "1 index" : grouped(count) + " indices", fmt::join(named, ", "),
                     count > static_cast<Index>(kMostNamed) ? " ..." : "");
}

}  // namespace

std::string difference_picture(const std::string& name, const Shape& shape,
                               const DifferenceMap& map, const cli::Terminal& terminal) {
  const Index cols = shape.empty() ? 1 : shape.back();
  const Index rows = shape.size() < 2 ? 1 : shape[shape.size() - 2];
  const std::string title = fmt::format("|A - B| of {}", name);
  if (shape.size() == 1 && cols > kMostCells) {
    return cli::chart({.title = title,
                       .curves = {{"difference", {map.distance.begin(), map.distance.end()}}},
                       .x_is = "index"},
                      terminal) +
           nonfinite_line(map.distance);
  }
  const Shape leading(shape.begin(), shape.end() - std::min<std::ptrdiff_t>(2, std::ssize(shape)));
  const Index matrices = static_cast<Index>(map.equal.size()) / (rows * cols);
  const double largest = largest_of(map.distance);
  std::vector<cli::HeatMap> maps;
  Index differing = 0;
  for (Index i = 0; i < matrices; ++i) {
    const Index at = i * rows * cols;
    const std::uint8_t* equal = map.equal.data() + at;
    if (std::all_of(equal, equal + rows * cols, [](std::uint8_t one) { return one != 0; }))
      continue;
    if (++differing > static_cast<Index>(kMostMaps)) continue;
    cli::HeatMap one;
    one.title =
        matrices == 1 ? title : fmt::format("[{}]", fmt::join(position_of(i, leading), ", "));
    one.group = matrices == 1 ? "" : title;
    one.values = {map.distance.data() + at, rows, cols};
    one.hidden = {equal, rows, cols};
    one.hidden_is = "equal";
    one.high = largest;
    one.argmax = false;
    maps.push_back(std::move(one));
  }
  std::string text = cli::heat_maps(maps, terminal);
  if (differing > std::ssize(maps)) {
    text +=
        fmt::format("the first {} of {} matrices that differ\n", maps.size(), grouped(differing));
  }
  return text;
}

}  // namespace attn
