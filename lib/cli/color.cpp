#include "cli/color.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace attn::cli {
namespace {

// Ten even samples of viridis (van der Walt and Smith 2015), eleven of ColorBrewer's RdBu
// reversed (Brewer 2003); between them linear.
constexpr std::array<Rgb, 10> kViridis = {{{68, 1, 84},
                                           {72, 40, 120},
                                           {62, 74, 137},
                                           {49, 104, 142},
                                           {38, 130, 142},
                                           {31, 158, 137},
                                           {53, 183, 121},
                                           {109, 205, 89},
                                           {180, 222, 44},
                                           {253, 231, 37}}};
constexpr std::array<Rgb, 11> kBlueRed = {{{5, 48, 97},
                                           {33, 102, 172},
                                           {67, 147, 195},
                                           {146, 197, 222},
                                           {209, 229, 240},
                                           {247, 247, 247},
                                           {253, 219, 199},
                                           {244, 165, 130},
                                           {214, 96, 77},
                                           {178, 24, 43},
                                           {103, 0, 31}}};

constexpr std::array<int, 15> kPaletteSequential = {16,  17,  53,  54,  90,  126, 162, 197,
                                                    203, 209, 215, 221, 227, 229, 231};
constexpr std::array<int, 21> kPaletteDiverging = {
    17, 18, 19, 20, 27, 33, 69, 75, 117, 153, 195, 231, 223, 216, 209, 203, 196, 160, 124, 88, 52};

// Okabe and Ito's colours for the colour-blind: red, green, blue and the palette's nearest.
struct LineColor {
  Rgb rgb;
  int palette;
};
constexpr std::array<LineColor, 5> kLines = {{{{0, 114, 178}, 32},
                                              {{230, 159, 0}, 214},
                                              {{0, 158, 115}, 36},
                                              {{204, 121, 167}, 175},
                                              {{213, 94, 0}, 166}}};

Rgb between(std::span<const Rgb> colors, double place) {
  const double at = std::clamp(place, 0.0, 1.0) * static_cast<double>(colors.size() - 1);
  const auto first = std::min(static_cast<std::size_t>(at), colors.size() - 2);
  const double part = at - static_cast<double>(first);
  const auto mix = [&](int a, int b) { return static_cast<int>(std::lround(a + (b - a) * part)); };
  const Rgb& a = colors[first];
  const Rgb& b = colors[first + 1];
  return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}

int pick(std::span<const int> palette, double place) {
  const double at = std::clamp(place, 0.0, 1.0) * static_cast<double>(palette.size() - 1);
  return palette[static_cast<std::size_t>(std::lround(at))];
}

// `layer` is 38 for the foreground, 48 for the background.
std::string escape(const Terminal& terminal, int layer, Rgb rgb, int palette) {
  switch (terminal.color) {
    case ColorMode::kNone:
      return "";
    case ColorMode::k256:
      return fmt::format("\x1b[{};5;{}m", layer, palette);
    case ColorMode::kTrueColor:
      return fmt::format("\x1b[{};2;{};{};{}m", layer, rgb.red, rgb.green, rgb.blue);
  }
  return "";
}

}  // namespace

Rgb ramp_color(Ramp ramp, double place) {
  return ramp == Ramp::kSequential ? between(kViridis, place) : between(kBlueRed, place);
}

int ramp_palette(Ramp ramp, double place) {
  return ramp == Ramp::kSequential ? pick(kPaletteSequential, place)
                                   : pick(kPaletteDiverging, place);
}

std::string background(const Terminal& terminal, Ramp ramp, double place) {
  return escape(terminal, 48, ramp_color(ramp, place), ramp_palette(ramp, place));
}

std::string foreground(const Terminal& terminal, Ramp ramp, double place) {
  return escape(terminal, 38, ramp_color(ramp, place), ramp_palette(ramp, place));
}

std::string readable_on(const Terminal& terminal, Ramp ramp, double place) {
  // Both sequential ramps get brighter along the way; the diverging ones are bright in the middle.
  const bool bright = ramp == Ramp::kSequential ? place > 0.6 : std::abs(place - 0.5) < 0.3;
  return bright ? escape(terminal, 38, {0, 0, 0}, 16) : escape(terminal, 38, {255, 255, 255}, 231);
}

std::string dim(const Terminal& terminal) {
  return escape(terminal, 38, {138, 138, 138}, 245);
}

std::string line_color(const Terminal& terminal, std::size_t line) {
  const LineColor& color = kLines[line % kLines.size()];
  return escape(terminal, 38, color.rgb, color.palette);
}

std::string reset(const Terminal& terminal) {
  return terminal.color == ColorMode::kNone ? "" : "\x1b[0m";
}

}  // namespace attn::cli
