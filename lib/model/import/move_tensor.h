#pragma once

#include "model/import/hf_family.h"

namespace attn {

enum class MoveTo { kOurs, kTheirs };

/// Copies the numbers of one tensor, row-major in its own shape at `theirs`, into the parameters
/// that it holds, or those into it. `ours` is a flat buffer of the model's layout. A tensor's
/// outputs (rows, or columns where it is transposed) are those of its parameters, one after
/// another.
void move_tensor(const HfMapping& mapping, float* theirs, float* ours, MoveTo to);

}  // namespace attn
