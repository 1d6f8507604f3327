#pragma once

#include "check/cases/case_file.h"
#include "check/check_attention.h"
#include "check/example.h"
#include "io/hdf5_writer.h"

namespace attn {

/// Puts the answers to a case into a file: /out and /lse of the float32 kernel, the same of the
/// float64 reference under /reference, and with `maps` /weights and /scores of both. out is in the
/// case's layout.
void add_answers(Hdf5Writer& writer, const AttentionReport& report, bool maps, TensorLayout layout);

/// Puts an example into a file: x, q, k, v, then out, lse, weights and scores, and the same with
/// `_causal` behind the name under a causal mask. All float32.
void add_example(Hdf5Writer& writer, const AttentionExample& example, const ExampleRun& run);

}  // namespace attn
