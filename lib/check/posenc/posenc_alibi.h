#pragma once

#include <vector>

#include "check/posenc/posenc_case.h"

namespace attn {

/// From what a bias grows.
enum class AlibiDistance {
  kAligned,   ///< |i + m - n - j|: the last query stands at the last key
  kFromLeft,  ///< |i - j|
  kShifted    ///< |i + m - n + 1 - j|
};

/// How slopes and biases were made; the defaults are right.
struct AlibiMaking {
  AlibiRules rules;
  std::vector<double> slopes;
  AlibiDistance distance = AlibiDistance::kAligned;
  double sign = -1;
};

/// Slopes as the paper has them: 2^(-8h/P) for h = 1 .. P, P the power of two at or below the
/// heads, then 2^(-4(2t - 1)/P).
AlibiMaking right_alibi(const PosencCase& c);

/// The bias of head h at query i of n and key j of m.
double alibi_bias(const AlibiMaking& made, Index h, Index i, Index j, Index n, Index m);

}  // namespace attn
