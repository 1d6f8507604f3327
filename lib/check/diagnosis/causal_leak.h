#pragma once

#include <optional>

#include "check/diagnosis/diagnose.h"

namespace attn {

/// causal-leak, where each row of out is that of the keys up to its own position and some of those
/// right behind it, a number of them for each row: masks that are right for some heads or rows
/// alone, diagonals by block. Nothing where a row fits no such number, or none leaks.
std::optional<Diagnosis> leaking_rows(const Findings& findings, int threads);

}  // namespace attn
