#pragma once

#include <optional>
#include <string>
#include <vector>

#include "check/check_attention.h"
#include "check/merge/merge_case.h"

namespace attn {

/// One of the parts that were merged, in numbers.
struct PartSummary {
  std::string name;           // of the file
  std::optional<Index> keys;  // where the file has them
  Index rows = 0;             // of all heads and sequences
  Index empty = 0;            // of these saw nothing
  double least_lse = 0;       // of those that saw something
  double largest_lse = 0;
};

PartSummary summary_of_part(const MergeFile& part);

struct MergeReport {
  PartialAnswer merged;
  std::vector<PartSummary> parts;
  /// Checks "part 1: out" of each part that has its own keys, "merged: out" ... against the float64
  /// reference of the whole, "recorded: out" ... of what somebody merged against what is merged
  /// here; only those that could be made.
  Verdict verdict;
  std::vector<std::string> remarks;  // what was taken for the whole, what was not checked
};

/// Merges parts (require_parts holds), in float64, and checks whatever the files allow. `whole` is
/// somebody's file of the whole: q, k and v, or out and lse as they merged them, or both.
MergeReport check_merge(const std::vector<MergeFile>& parts, const std::optional<MergeFile>& whole,
                        int threads);

}  // namespace attn
