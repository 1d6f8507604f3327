#pragma once

#include <cstdint>

namespace attn {

/// What something took. cpu is of all threads of the process together: above wall where threads
/// worked side by side, below it where the machine was busy with others.
struct Elapsed {
  std::int64_t wall_ns = 0;
  std::int64_t cpu_ns = 0;

  Elapsed& operator+=(const Elapsed& other) {
    wall_ns += other.wall_ns;
    cpu_ns += other.cpu_ns;
    return *this;
  }
};

/// Runs from when it is made: the monotonic clock, and the process's cpu clock beside it.
class Stopwatch {
 public:
  Stopwatch() : start_(now()) {}
  void restart() { start_ = now(); }
  Elapsed elapsed() const;
  /// The wall time alone: the cpu clock takes a system call, too long between two short steps.
  std::int64_t wall_ns() const;

 private:
  static Elapsed now();
  Elapsed start_;
};

}  // namespace attn
