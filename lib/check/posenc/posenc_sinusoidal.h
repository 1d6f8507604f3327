#pragma once

#include <vector>

#include "check/posenc/posenc_case.h"
#include "check/posenc/posenc_phase.h"

namespace attn {

/// In which order the sines and cosines of a table stand.
enum class SineOrder { kSineCosine, kCosineSine, kSinesThenCosines, kCosinesThenSines };

/// How a sinusoidal table was made; the defaults are right.
struct SinusoidalMaking {
  SinusoidalRules rules;
  std::vector<double> positions;
  SineOrder order = SineOrder::kSineCosine;
  ExponentRule exponent;    ///< of the i-th sine and cosine
  double own_exponent = 0;  ///< each column c has this times c/dim, and no pair shares one
  double sine_sign = 1;
  PhaseRounding rounding;
};

/// The table as the rules want it.
SinusoidalMaking right_sinusoidal(const PosencCase& c);

/// Value of column c at a position, in double.
double sinusoidal_value(const SinusoidalMaking& made, double position, Index column);

/// The largest |position * frequency| of the table.
double largest_phase(const SinusoidalMaking& made);

}  // namespace attn
