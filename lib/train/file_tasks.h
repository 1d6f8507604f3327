#pragma once

#include "train/task.h"

namespace attn {

/// The tasks whose data are files; settings and what is filled in as in train/toy_tasks.h. A text
/// for an encoder is one with hidden tokens to fill in. `text` and `tokens` say their window where
/// settings do not.
Task text_file_task(const TaskSettings& settings, Arch arch, Index seq_len);
Task lines_task(const TaskSettings& settings);
Task pairs_task(const TaskSettings& settings, Arch arch);
Task tokens_task(const TaskSettings& settings, Arch arch, Index seq_len);

}  // namespace attn
