#pragma once

#include <cstdint>
#include <span>
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
  CacheWay cache;
  Index first = 1;
  Index total = 1;

  Index steps() const { return total - first + 1; }
};

/// What the subject says of itself after a step.
struct StepCount {
  Index key_rows = 0;         // since the start, by the layers' own counter
  Index cache_bytes = 0;      // of the rows in use; 0 without a cache
  Index allocated_bytes = 0;  // that it took for them
};

/// What one run took, the first step apart, and what was counted.
struct DecodeRun {
  Elapsed first, others;
  std::vector<std::int64_t> step_ns;  // wall time of each step
  std::vector<StepCount> counts;      // after each of the steps that were asked for
};

/// Runs the plan; row i of `outputs` (steps, width) gets the output of step i. After each of the
/// steps `counted` (from 0, ascending) the subject is asked for its counts. Asking takes time: the
/// clock stands still after the first step and the last, a run whose times matter is asked there.
DecodeRun run_plan(DecodeSubject& subject, const DecodePlan& plan, Matrix<float> outputs,
                   std::span<const Index> counted);

}  // namespace attn
