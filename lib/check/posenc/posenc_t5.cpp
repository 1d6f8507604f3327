#include "check/posenc/posenc_t5.h"

#include <algorithm>
#include <cmath>

namespace attn {

T5Making right_t5(const PosencCase& c) {
  T5Making made;
  made.rules = c.t5;
  return made;
}

double t5_bucket(const T5Making& made, double relative) {
  const double r = made.sign * relative;
  double buckets = static_cast<double>(made.rules.num_buckets);
  double first = 0;
  double distance = std::max(-r, 0.0);
  if (made.rules.bidirectional) {
    buckets = std::floor(buckets / 2);
    const bool future = made.future_from_zero ? r >= 0 : r > 0;
    if (future != made.future_first) first = buckets;
    distance = std::abs(r);
  }
  const double exact = std::floor(buckets / 2);
  if (distance < exact) return first + distance;
  if (made.all_exact) return first + std::min(distance, buckets - 1);
  const double longest = static_cast<double>(made.rules.max_distance);
  if (made.clamp == T5Clamp::kDistance) distance = std::min(distance, longest);
  // A distance exactly on a border belongs to the farther bucket, whatever its logarithm rounds to.
  constexpr double kBorder = 1e-9;
  const double far = exact + std::floor(std::log(distance / exact) / std::log(longest / exact) *
                                            (buckets - exact) +
                                        kBorder);
  switch (made.clamp) {
    case T5Clamp::kNone:
    case T5Clamp::kDistance:
      return first + far;
    case T5Clamp::kOneMore:
      return first + std::min(far, buckets);
    case T5Clamp::kOneLess:
      return first + std::min(far, buckets - 2);
    case T5Clamp::kAllBuckets:
      return first + std::min(far, static_cast<double>(made.rules.num_buckets) - 1);
    case T5Clamp::kRight:
      break;
  }
  return first + std::min(far, buckets - 1);
}

}  // namespace attn
