#pragma once

#include <type_traits>

#include "core/index.h"

namespace attn {

/// Threads this process may use: the cores it is allowed to run on, or OMP_NUM_THREADS.
int available_threads();

/// A borrowed function of an index and a worker. Unlike std::function it copies nothing and so
/// allocates nothing; what it was made from must live as long.
class IndexTask {
 public:
  template <class Task>
  requires(!std::is_same_v<Task, IndexTask>)
      IndexTask(const Task& task)  // NOLINT: a lambda reads as a task
      : task_(&task), call_([](const void* from, Index index, int worker) {
          (*static_cast<const Task*>(from))(index, worker);
        }) {}

  void operator()(Index index, int worker) const { call_(task_, index, worker); }

 private:
  const void* task_;
  void (*call_)(const void* from, Index index, int worker);
};

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

}  // namespace attn
