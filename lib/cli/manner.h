#pragma once

namespace attn::cli {

enum class ColorChoice { kAuto, kAlways, kNever };

/// How a program talks, whatever it does: the options -q, --verbose, --color, --no-progress.
struct Manner {
  bool quiet = false;
  bool verbose = false;
  bool progress = true;
  ColorChoice color = ColorChoice::kAuto;
};

}  // namespace attn::cli
