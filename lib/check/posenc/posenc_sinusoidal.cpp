#include "check/posenc/posenc_sinusoidal.h"

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

struct Column {
  bool sine = true;
  Index pair = 0;
  bool padding = false;  // tensor2tensor fills up an odd width with zeros
};

Column column_of(const SinusoidalMaking& made, Index c) {
  const Index dim = made.rules.dim;
  Column column;
  if (made.rules.tensor2tensor && dim % 2 != 0 && c == dim - 1) {
    column.padding = true;
    return column;
  }
  const bool first_kind_is_sine =
      made.order == SineOrder::kSineCosine || made.order == SineOrder::kSinesThenCosines;
  bool first_kind = true;
  if (made.order == SineOrder::kSineCosine || made.order == SineOrder::kCosineSine) {
    first_kind = c % 2 == 0;
    column.pair = c / 2;
  } else {
    const Index firsts = made.rules.tensor2tensor ? dim / 2 : (dim + 1) / 2;
    first_kind = c < firsts;
    column.pair = first_kind ? c : c - firsts;
  }
  column.sine = first_kind == first_kind_is_sine;
  return column;
}

double exponent_of(const SinusoidalMaking& made, Index c, Index pair) {
  const double d = static_cast<double>(made.rules.dim);
  const double i = static_cast<double>(pair);
  if (made.own_exponent != 0) return made.own_exponent * static_cast<double>(c) / d;
  if (made.exponent) return made.exponent(i, d);
  if (!made.rules.tensor2tensor) return 2 * i / d;
  const Index half = made.rules.dim / 2;
  return half < 2 ? 0 : i / static_cast<double>(half - 1);
}

double frequency_of(const SinusoidalMaking& made, Index c, Index pair) {
  const PhaseRounding& r = made.rounding;
  const double exponent = rounded(exponent_of(made, c, pair), r.to, r.exponents);
  return rounded(std::exp(-exponent * std::log(made.rules.base)), r.to, r.frequencies);
}

}  // namespace

SinusoidalMaking right_sinusoidal(const PosencCase& c) {
  SinusoidalMaking made;
  made.rules = c.sinusoidal;
  made.positions = c.positions;
  made.order = c.sinusoidal.concatenated ? SineOrder::kSinesThenCosines : SineOrder::kSineCosine;
  return made;
}

double sinusoidal_value(const SinusoidalMaking& made, double position, Index c) {
  const Column column = column_of(made, c);
  if (column.padding) return 0;
  const PhaseRounding& r = made.rounding;
  const double phase = rounded(
      rounded(position, r.to, r.positions) * frequency_of(made, c, column.pair), r.to, r.phases);
  const double value = column.sine ? made.sine_sign * std::sin(phase) : std::cos(phase);
  return rounded(value, r.to, r.results);
}

double largest_phase(const SinusoidalMaking& made) {
  double largest = 0;
  for (const double p : made.positions) largest = std::max(largest, std::abs(p));
  double fastest = 0;
  for (Index c = 0; c < made.rules.dim; ++c) {
    fastest = std::max(fastest, frequency_of(made, c, column_of(made, c).pair));
  }
  return largest * fastest;
}

}  // namespace attn
