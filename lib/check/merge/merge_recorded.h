#pragma once

#include <vector>

#include "check/merge/merge_case.h"
#include "check/verdict/verdict.h"

namespace attn {

/// Holds what somebody merged, out or lse or both, to `merged`, what the parts give here: checks
/// "out" and "lse", and the mistakes of merging that give just what was recorded. DataError where
/// the shapes differ.
Verdict check_recorded_merge(const MergeFile& recorded, const std::vector<PartialAnswer>& parts,
                             const PartialAnswer& merged, FullyMasked empty);

}  // namespace attn
