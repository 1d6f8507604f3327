#pragma once

#include <string>

#include "cli/terminal.h"

namespace attn::cli {

/// Colours for numbers: low to high for what starts at 0 (viridis), blue over white to red for
/// what has a sign (RdBu).
enum class Ramp { kSequential, kDiverging };

struct Rgb {
  int red;
  int green;
  int blue;
};

/// The colour at 0..1 along a ramp, for terminals with 24 bits.
Rgb ramp_color(Ramp ramp, double place);

/// The number of the colour at 0..1 in the 256-colour palette. Picked by hand: the nearest
/// matches of viridis fall onto two muddy purples.
int ramp_palette(Ramp ramp, double place);

/// Escape sequences that set the background or the foreground to a place on a ramp; empty
/// without colour.
std::string background(const Terminal& terminal, Ramp ramp, double place);
std::string foreground(const Terminal& terminal, Ramp ramp, double place);
/// Black or white, whichever reads well on that background.
std::string readable_on(const Terminal& terminal, Ramp ramp, double place);
/// Grey, for what is not a value.
std::string dim(const Terminal& terminal);
/// One of a few colours that are told apart by most eyes, for lines.
std::string line_color(const Terminal& terminal, std::size_t line);
/// Back to normal; empty without colour.
std::string reset(const Terminal& terminal);

}  // namespace attn::cli
