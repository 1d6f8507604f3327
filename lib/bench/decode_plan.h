#pragma once

#include <vector>

#include "bench/decode_subject.h"
#include "bench/stopwatch.h"
#include "core/matrix.h"

namespace attn {

/// Tokens to process: `prompt` of them in one step, then one by one, each step giving the output
/// that the next token would be chosen from. The last of `new_tokens` is never fed back. Without a
/// prompt, `new_tokens` given tokens are fed one by one (the tutorial's experiment).
struct DecodeWork {
  Index prompt = 0;
  Index new_tokens = 512;

  /// Tokens of the first step, and of all steps.
  Index first() const { return prompt == 0 ? 1 : prompt; }
  Index total() const { return prompt == 0 ? new_tokens : prompt + new_tokens - 1; }
};

/// One way of processing tokens 0 .. total - 1: the first `first` in one step, the others one by
/// one.
struct DecodePlan {
  CacheKind cache = CacheKind::kContiguous;
  Index first = 1;
  Index total = 1;

  Index steps() const { return total - first + 1; }
};

/// Rows through each key projection: with a cache every token once; without, every step's whole
/// prefix, first + ... + total.
Index expected_key_rows(const DecodePlan& plan);

/// What the subject says of itself after a step.
struct StepCount {
  Index key_rows = 0;         // since the start, by the layers' own counter
  Index cache_bytes = 0;      // of the rows that the cache holds; 0 without
  Index allocated_bytes = 0;  // that it took for them
};

/// What one run took, the first step apart, and what was counted after each step.
struct DecodeRun {
  Elapsed first, others;
  std::vector<StepCount> counts;
};

/// Runs the plan; row i of `outputs` (steps, width) gets the output of step i.
DecodeRun run_plan(DecodeSubject& subject, const DecodePlan& plan, Matrix<float> outputs);

}  // namespace attn
