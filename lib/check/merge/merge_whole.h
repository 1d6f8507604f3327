#pragma once

#include <optional>
#include <string>
#include <vector>

#include "check/merge/merge_case.h"

namespace attn {

/// The attention that parts are of, or why it is not known.
struct WholeProblem {
  std::optional<AttentionProblem> problem;
  bool joined = false;  // its keys are those of the parts, one behind another
  std::string missing;  // why there is none
};

/// Where just one file has keys, or all that have some have the same, they are the whole's. Else
/// the keys of the parts, one behind another, under the rules by which a row sees of them just what
/// it sees in the parts. DataError where the queries differ.
WholeProblem whole_of_parts(const std::vector<MergeFile>& parts);

}  // namespace attn
