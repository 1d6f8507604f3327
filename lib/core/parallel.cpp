#include "core/parallel.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>

namespace attn {

namespace {

// The exception of the lowest index that any worker met.
class FirstFailure {
 public:
  void note(Index index) {
    const std::lock_guard<std::mutex> lock(guard_);
    if (index >= index_) return;
    index_ = index;
    failure_ = std::current_exception();
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::mutex guard_;
  Index index_ = std::numeric_limits<Index>::max();
  std::exception_ptr failure_;
};

int workers_for(Index count, int threads) {
  return static_cast<int>(std::min<Index>(std::max(threads, 1), count));
}

void run_alone(Index count, IndexTask task) {
  for (Index index = 0; index < count; ++index) task(index, 0);
}

// A worker's indices, of which others may take some. A line of its own: counters are busy.
struct alignas(64) Share {
  std::atomic<Index> next{0};
  Index end = 0;
};

}  // namespace

int available_threads() {
  return std::max(1, omp_get_max_threads());
}

void parallel_for(Index count, int threads, IndexTask task) {
  const int workers = workers_for(count, threads);
  if (workers <= 1) return run_alone(count, task);
  FirstFailure failure;
#pragma omp parallel for schedule(dynamic, 1) num_threads(workers)
  for (Index index = 0; index < count; ++index) {
    try {
      task(index, omp_get_thread_num());
    } catch (...) {
      failure.note(index);
    }
  }
  failure.rethrow();
}

void parallel_shares(Index count, int threads, IndexTask task) {
  constexpr int kMostShares = 64;
  const int workers = std::min(workers_for(count, threads), kMostShares);
  if (workers <= 1) return run_alone(count, task);
  std::array<Share, kMostShares> shares;
  for (int i = 0; i < workers; ++i) {
    Share& share = shares[static_cast<std::size_t>(i)];
    share.next = count * i / workers;
    share.end = count * (i + 1) / workers;
  }
  FirstFailure failure;
#pragma omp parallel num_threads(workers)
  {
    const int worker = omp_get_thread_num();
    for (int turn = 0; turn < workers; ++turn) {
      const int owner = (worker + turn) % workers;
      Share& share = shares[static_cast<std::size_t>(owner)];
      // The last index is left to its owner, if that runs at all: it is about to take it, and what
      // is taken away has to travel from its cache to this one, and back the next time.
      const bool left = owner != worker && owner < omp_get_num_threads();
      const Index end = left ? share.end - 1 : share.end;
      while (share.next < end) {
        const Index index = share.next++;
        if (index >= share.end) break;
        try {
          task(index, worker);
        } catch (...) {
          failure.note(index);
        }
      }
    }
  }
  failure.rethrow();
}

}  // namespace attn
