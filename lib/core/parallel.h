#pragma once

#include <functional>

#include "core/index.h"

namespace attn {

/// Threads this process may use: the cores it is allowed to run on, or OMP_NUM_THREADS.
int available_threads();

/// Runs task(index, worker) for every index in 0 .. count - 1, by at most `threads` workers
/// numbered from 0, which take the next index as they get free (in order of index). What one task
/// writes no other task may touch: then the result does not depend on `threads`. The first
/// exception of the lowest index is thrown again when all have ended. The only place that says
/// OpenMP.
void parallel_for(Index count, int threads,
                  const std::function<void(Index index, int worker)>& task);

}  // namespace attn
