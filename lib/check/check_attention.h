#pragma once

#include <functional>
#include <string>
#include <vector>

#include "check/cases/case_part.h"
#include "check/verdict/error_summary.h"
#include "check/verdict/tolerance.h"

namespace attn {

/// What came of checking one recorded attention.
struct AttentionReport {
  Verdict verdict;        // of what was recorded: equality with the reference, and the laws
  Verdict kernel;         // of this library's float32 kernel on the same inputs: a second opinion
  AttentionAnswer truth;  // empty unless wanted, see CheckSettings
  AttentionAnswer fast;   // the kernel's answer, likewise
  Limits of_out;          // what the recorded out may differ
  std::vector<ErrorSummary> errors;  // of each tensor that fails, where the case is checked whole
  std::vector<std::string> remarks;  // what was assumed, what was not tried
};

struct CheckSettings {
  bool maps = false;  // weights and scores in the answers, even where none were recorded
  int threads = 1;
  /// out and lse of a case that is checked in parts are kept too; those of a small case always are.
  bool answers = false;
  /// Numbers in memory beyond which a case is checked in parts; maps that are wanted need it whole.
  double part_bytes = 64 << 20;
  /// Told now and then how much is done, of 1000, where that takes seconds. May be empty.
  std::function<void(Index)> progress = {};
};

/// Holds what was recorded to the float64 reference and to the laws of attention. The case must be
/// valid. Fails nothing for what is absent. Rows of attention do not depend on each other, so a
/// large case is checked part by part, in memory that grows with the sequence and not with its
/// square, and the same figures come out.
AttentionReport check_attention(const PartedCase& source, const CheckSettings& settings);
AttentionReport check_attention(const AttentionCase& recorded, const CheckSettings& settings);

}  // namespace attn
