#pragma once

#include "core/borrowed_call.h"
#include "core/index.h"

namespace attn {

/// Threads this process may use: the cores it is allowed to run on, or OMP_NUM_THREADS.
int available_threads();

using IndexTask = BorrowedCall<void(Index index, int worker)>;

/// Runs task(index, worker) for every index in 0 .. count - 1, by at most `threads` workers
/// numbered from 0, which take the next index as they get free (in order of index). What one task
/// writes no other task may touch: then the result does not depend on `threads`. The first
/// exception of the lowest index is thrown again when all have ended. The only place that says
/// OpenMP.
void parallel_for(Index count, int threads, IndexTask task);

/// The same where a task's memory is read again and again, as weights are in decoding: each worker
/// begins with its own share of the indices, the same one in every call, and only then helps
/// others who are more than one index behind. So its part of a matrix stays in its own cache.
void parallel_shares(Index count, int threads, IndexTask task);

/// Calls work(), whose loops (those that its own thread runs) find `threads` workers awake: for
/// many short loops one after another, as of a token. The others wait between loops, and while
/// they do so keep their cores busy. Changes no result; within another call or loop it is work().
void keep_workers_awake(int threads, BorrowedCall<void()> work);

}  // namespace attn
