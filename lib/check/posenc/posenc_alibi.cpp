#include "check/posenc/posenc_alibi.h"

#include <cmath>

namespace attn {

AlibiMaking right_alibi(const PosencCase& c) {
  AlibiMaking made;
  made.rules = c.alibi;
  Index power = 1;
  while (2 * power <= c.alibi.heads) power *= 2;
  const double p = static_cast<double>(power);
  for (Index h = 1; h <= power; ++h) {
    made.slopes.push_back(std::pow(0.5, 8 * static_cast<double>(h) / p));
  }
  for (Index t = 1; t <= c.alibi.heads - power; ++t) {
    made.slopes.push_back(std::pow(0.5, 4 * static_cast<double>(2 * t - 1) / p));
  }
  return made;
}

double alibi_bias(const AlibiMaking& made, Index h, Index i, Index j, Index n, Index m) {
  Index ahead = i - j;
  if (made.distance != AlibiDistance::kFromLeft) ahead += m - n;
  if (made.distance == AlibiDistance::kShifted) ++ahead;
  return made.sign * made.slopes[static_cast<std::size_t>(h)] *
         std::abs(static_cast<double>(ahead));
}

}  // namespace attn
