#pragma once

#include "check/posenc/posenc_case.h"

namespace attn {

/// What keeps a far distance within the buckets.
enum class T5Clamp { kRight, kNone, kOneMore, kAllBuckets, kDistance, kOneLess };

/// How buckets were made; the defaults are right.
struct T5Making {
  T5Rules rules;
  double sign = 1;  ///< -1: query - key
  T5Clamp clamp = T5Clamp::kRight;
  bool future_from_zero = false;  ///< the future's buckets begin at distance 0
  bool future_first = false;      ///< the past has the upper buckets
  bool all_exact = false;         ///< no logarithmic half
};

T5Making right_t5(const PosencCase& c);

/// The bucket of key - query (Raffel et al. 2020, arXiv:1910.10683): half of a direction's buckets
/// hold one distance each, the others grow with its logarithm up to max_distance.
double t5_bucket(const T5Making& made, double relative);

}  // namespace attn
