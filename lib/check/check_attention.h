#pragma once

#include <string>
#include <vector>

#include "check/attention_case.h"
#include "check/tolerance.h"

namespace attn {

/// What came of checking one recorded attention.
struct AttentionReport {
  Verdict verdict;  // of what was recorded: equality with the reference, and the laws
  Verdict kernel;   // of this library's float32 kernel on the same inputs: a second opinion
  AttentionAnswer truth;
  AttentionAnswer fast;              // the kernel's answer
  Limits of_out;                     // what the recorded out may differ
  std::vector<std::string> remarks;  // what was assumed, what was not tried
};

struct CheckSettings {
  bool maps = false;  // weights and scores in the answers, even where none were recorded
  int threads = 1;
};

/// Holds what was recorded to the float64 reference and to the laws of attention. The case must be
/// valid. Fails nothing for what is absent.
AttentionReport check_attention(const AttentionCase& recorded, const CheckSettings& settings);

}  // namespace attn
