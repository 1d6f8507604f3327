#pragma once

#include <atomic>

#include "core/borrowed_call.h"

namespace attn {

using TeamPart = BorrowedCall<void(int worker, int workers)>;

/// Threads that stay awake between one loop and the next, for loops that follow each other within
/// microseconds: handing them a loop costs two messages from core to core, a fifth of waking
/// threads. Who makes the threads is its user's affair (parallel.cpp): one of them opens the team,
/// runs loops and closes it; the others serve.
class Team {
 public:
  /// crowded: more threads than cores, so that who waits had better sleep at once.
  explicit Team(bool crowded) : spins_(crowded ? 0 : kSpins) {}

  /// `threads`: with the caller's, which is worker 0.
  void open(int threads) { threads_ = threads; }
  /// Calls part(worker, workers) once for each worker below `workers` (or the team's threads, if
  /// those are fewer), and returns when all have ended. A part must not throw, nor run a part.
  void run(int workers, TeamPart part);
  /// Lets the others go.
  void close();
  /// Takes part in all that is run, until the team is closed.
  void serve(int worker);

 private:
  // Some 50 us: longer than what lies between two loops of one pass, mostly.
  static constexpr int kSpins = 2048;

  void wait_while(const std::atomic<int>& value, int old) const;

  int spins_;
  int threads_ = 1;
  int workers_ = 0;                 // of the loop
  const TeamPart* part_ = nullptr;  // null: closed
  // Lines of their own, for both are watched.
  alignas(64) std::atomic<int> loop_{0};     // number of the loop
  alignas(64) std::atomic<int> at_work_{0};  // others that have not ended it
};

}  // namespace attn
