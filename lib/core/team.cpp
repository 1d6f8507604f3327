#include "core/team.h"

#include <algorithm>

namespace attn {
namespace {

// Leaves the core's units to whoever shares it, for a moment.
inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

void Team::wait_while(const std::atomic<int>& value, int old) const {
  for (int i = 0; i < spins_; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    pause();
  }
  value.wait(old, std::memory_order_acquire);
}

void Team::run(int workers, TeamPart part) {
  part_ = &part;
  workers_ = std::min(workers, threads_);
  at_work_.store(threads_ - 1, std::memory_order_relaxed);
  loop_.fetch_add(1);
  loop_.notify_all();
  part(0, workers_);
  for (int left = at_work_.load(std::memory_order_acquire); left > 0;
       left = at_work_.load(std::memory_order_acquire)) {
    wait_while(at_work_, left);
  }
}

void Team::close() {
  part_ = nullptr;
  loop_.fetch_add(1);
  loop_.notify_all();
}

void Team::serve(int worker) {
  for (int seen = 0;; ++seen) {
    wait_while(loop_, seen);
    if (part_ == nullptr) return;
    if (worker < workers_) (*part_)(worker, workers_);
    at_work_.fetch_sub(1);
    at_work_.notify_one();
  }
}

}  // namespace attn
