#pragma once

#include <vector>

#include "check/diagnosis/diagnose.h"

namespace attn {

/// Mistakes of the log-sum-exp alone: another base, the largest score left out, no logarithm.
std::vector<Diagnosis> lse_mistakes(const Findings& findings);

/// What can be said without knowing how it came about: rows of scores off by a constant each, rows
/// of out off by a factor each, NaN where binary16 would have overflowed, a broken law.
std::vector<Diagnosis> symptoms(const Findings& findings);

/// "consistent with TF32 inputs", "consistent with f16 arithmetic" ...: a coarser arithmetic than
/// the declared one under which out would pass; else empty.
std::string coarser_arithmetic(const Findings& findings, int threads);

}  // namespace attn
