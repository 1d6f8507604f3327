#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/index.h"

namespace attn {

/// What the mistakes found in several cases have in common.
struct JointDiagnosis {
  std::vector<std::string> common;  ///< names that fit every failing case, in the first one's order
  /// Where none does: each name with the number of failing cases it fits, the most first.
  std::vector<std::pair<std::string, Index>> others;
};

/// `found` has the names that fit, of each failing case.
JointDiagnosis join_diagnoses(const std::vector<std::vector<std::string>>& found);

}  // namespace attn
