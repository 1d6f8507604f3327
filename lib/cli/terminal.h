#pragma once

#include "cli/manner.h"

namespace attn::cli {

enum class ColorMode { kNone, k256, kTrueColor };

/// What a picture may use. The default is what a log file gets: 80 columns of plain ASCII.
struct Terminal {
  ColorMode color = ColorMode::kNone;
  int width = 80;
  bool utf8 = false;
  bool interactive = false;  ///< someone looks at it while it is written
};

/// Looks at a stream and at the environment: TERM, NO_COLOR, COLORTERM, COLUMNS, and LC_ALL,
/// LC_CTYPE, LANG for UTF-8. An explicit choice of colour wins over all of them.
Terminal detect_terminal(int descriptor, ColorChoice choice);

}  // namespace attn::cli
