#include "core/parallel.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>

#include "core/team.h"

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

// The team that waits for this thread's loops; null: each loop wakes workers of its own. Also null
// while the thread takes part in a loop, for the team has but one at a time.
thread_local Team* awake = nullptr;

class Awake {
 public:
  explicit Awake(Team* team) : before_(awake) { awake = team; }
  Awake(const Awake&) = delete;
  Awake& operator=(const Awake&) = delete;
  ~Awake() { awake = before_; }

 private:
  Team* before_;
};

// Calls part(worker, workers) once on each of at most so many workers, and waits for all.
void run_together(int workers, TeamPart part) {
  if (Team* const team = awake; team != nullptr) {
    const Awake nobody(nullptr);
    return team->run(workers, part);
  }
#pragma omp parallel num_threads(workers)
  part(omp_get_thread_num(), omp_get_num_threads());
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

void keep_workers_awake(int threads, BorrowedCall<void()> work) {
  if (threads <= 1 || awake != nullptr || omp_in_parallel() != 0) return work();
  std::exception_ptr failure;
  Team team(threads > omp_get_num_procs());
#pragma omp parallel num_threads(threads)
  {
    if (omp_get_thread_num() == 0) {
      team.open(omp_get_num_threads());
      const Awake now(&team);
      try {
        work();
      } catch (...) {
        failure = std::current_exception();
      }
      team.close();
    } else {
      team.serve(omp_get_thread_num());
    }
  }
  if (failure) std::rethrow_exception(failure);
}

void parallel_for(Index count, int threads, IndexTask task) {
  const int workers = workers_for(count, threads);
  if (workers <= 1) return run_alone(count, task);
  FirstFailure failure;
  std::atomic<Index> next{0};
  run_together(workers, [&](int worker, int) {
    for (Index index = next++; index < count; index = next++) {
      try {
        task(index, worker);
      } catch (...) {
        failure.note(index);
      }
    }
  });
  failure.rethrow();
}

void parallel_shares(Index count, int threads, IndexTask task) {
  constexpr int kMostShares = 64;
  const int shares_cut = std::min(workers_for(count, threads), kMostShares);
  if (shares_cut <= 1) return run_alone(count, task);
  std::array<Share, kMostShares> shares;
  for (int i = 0; i < shares_cut; ++i) {
    Share& share = shares[static_cast<std::size_t>(i)];
    share.next = count * i / shares_cut;
    share.end = count * (i + 1) / shares_cut;
  }
  FirstFailure failure;
  run_together(shares_cut, [&](int worker, int workers) {
    for (int turn = 0; turn < shares_cut; ++turn) {
      const int owner = (worker + turn) % shares_cut;
      Share& share = shares[static_cast<std::size_t>(owner)];
      // The last index is left to its owner, if that runs at all: it is about to take it, and what
      // is taken away has to travel from its cache to this one, and back the next time.
      const bool left = owner != worker && owner < workers;
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
  });
  failure.rethrow();
}

}  // namespace attn
