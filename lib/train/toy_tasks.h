#pragma once

#include "train/task.h"

namespace attn {

/// The tasks that need no file, each for one switch of the transformer. `settings` as make_task has
/// them; `arch` is one that can learn the task. Name, arrangement and defaults are filled in by
/// make_task.
Task progressions_task(const TaskSettings& settings);
Task copy_task(const TaskSettings& settings, Arch arch);
Task reverse_task(const TaskSettings& settings, Arch arch);
Task sort_task(const TaskSettings& settings, Arch arch);
Task masked_task(const TaskSettings& settings);
Task induction_task(const TaskSettings& settings);

}  // namespace attn
