#pragma once

#include "check/posenc/posenc_case.h"
#include "check/verdict/verdict.h"

namespace attn {

/// Holds tables to float64 formulas of this file's own. Allowed: cosines, sines and sinusoidal
/// tables 1e-6 + 2^-22 * largest |phase| (times the attention factor), frequencies and slopes 1e-6
/// of themselves, ALiBi biases as their slopes, y the bound of its cosines times 2 * max |x|,
/// buckets nothing; and on top of that what a type coarser than f32 rounds off. Where a part
/// fails, every known mistake is tried that could have made it, and those are named under which
/// the formulas give what was stored: the most specific first, pairs only where no single one
/// does, else "numeric-error".
Verdict check_posenc(const PosencCase& c);

/// Do all parts pass?
bool posenc_passes(const PosencCase& c);

}  // namespace attn
