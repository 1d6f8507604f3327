#pragma once

#include <functional>

#include "core/index.h"

namespace attn {

/// To what an implementation may have rounded what it should have kept in float32.
enum class Rounding { kNone, kBf16, kBf16Cut, kF16 };

/// Where on the way to a sine it rounds, as somebody who mistakes the type would: nowhere.
struct PhaseRounding {
  Rounding to = Rounding::kNone;
  bool exponents = false;
  bool frequencies = false;
  bool positions = false;
  bool phases = false;
  bool results = false;  ///< sine and cosine themselves
};

/// `value` as `to` keeps it, where `where` says so.
double rounded(double value, Rounding to, bool where);

/// The exponent of the i-th frequency of a table of width d; none: 2i/d, as it should be.
using ExponentRule = std::function<double(double i, double d)>;

/// 1e-6 + 2^-22 * largest |phase|: what a sine of a float32 phase may be off by.
double phase_limit(double largest_phase);

}  // namespace attn
