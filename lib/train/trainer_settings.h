#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ops/adamw.h"
#include "train/decay.h"
#include "train/schedule.h"

namespace attn {

/// A setting that is not in its range, in a file's words.
struct OutOfRange {
  std::string name;    // "min_lr"
  std::string wanted;  // "a number of at least 0"
  std::string got;
};

/// How an update is made.
struct TrainerSettings {
  AdamWSettings adamw;  // PyTorch's defaults; lr is the schedule's highest
  ScheduleKind schedule = ScheduleKind::kConstant;
  double min_lr = 0;
  Index warmup = 0;
  Index steps = 0;  // updates of the whole run; their numbers are 32 bits of a random stream's key
  DecayScope decay = DecayScope::kAll;
  double clip = 0;             // most norm of all gradients together; 0: as long as they are
  double dropout = 0;          // share of numbers hidden
  double label_smoothing = 0;  // share of each target's probability spread over all tokens
  Index batch = 128;
  Index accumulate = 1;        // an update takes batch * accumulate sequences
  std::uint64_t seed = 0;      // of dropout
  bool log_gradients = false;  // keep each parameter's gradient norm of each update in the state
  int threads = 1;             // changes no bit

  Schedule rates() const { return {schedule, adamw.lr, min_lr, warmup, steps}; }
  /// Sequences of one update.
  Index sequences() const { return batch * accumulate; }

  /// The first setting that is out of range.
  std::optional<OutOfRange> out_of_range() const;
  /// Throws UsageError that names its option.
  void validate() const;
};

}  // namespace attn
