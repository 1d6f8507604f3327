#include "bench/stopwatch.h"

#include <ctime>

namespace attn {
namespace {

std::int64_t read_clock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

Elapsed Stopwatch::now() {
  return {read_clock(CLOCK_MONOTONIC), read_clock(CLOCK_PROCESS_CPUTIME_ID)};
}

std::int64_t Stopwatch::wall_ns() const {
  return read_clock(CLOCK_MONOTONIC) - start_.wall_ns;
}

Elapsed Stopwatch::elapsed() const {
  const Elapsed end = now();
  return {end.wall_ns - start_.wall_ns, end.cpu_ns - start_.cpu_ns};
}

}  // namespace attn
