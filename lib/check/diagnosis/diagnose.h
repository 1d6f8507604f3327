#pragma once

#include <vector>

#include "check/cases/attention_case.h"
#include "check/verdict/tolerance.h"

namespace attn {

/// What a diagnosis starts from: the case, the reference's answer with maps, what may differ, and
/// the checks that were made.
struct Findings {
  const AttentionCase& recorded;
  const AttentionAnswer& truth;
  const Limits& of_out;
  const Limits& of_weights;
  const Limits& of_scores;
  const Limits& of_lse;
  const Verdict& verdict;
};

/// The known mistakes under each of which the reference gives what was recorded, the most specific
/// first: those that explain every record before those that explain the first failing one alone.
/// Where none does, pairs of two mistakes that do together; where none do, what the numbers and the
/// laws show; else "numeric-error". Empty where nothing failed, and where the maps are too large to
/// try (kMostDiagnosed).
std::vector<Diagnosis> diagnose(const Findings& findings, int threads);

/// Weights of all heads together up to which mistakes are tried.
inline constexpr Index kMostDiagnosed = Index{1} << 22;

}  // namespace attn
