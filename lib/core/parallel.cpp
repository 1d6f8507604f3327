#include "core/parallel.h"

#include <omp.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <mutex>

namespace attn {

int available_threads() {
  return std::max(1, omp_get_max_threads());
}

void parallel_for(Index count, int threads, IndexTask task) {
  const int workers = static_cast<int>(std::min<Index>(std::max(threads, 1), count));
  if (workers <= 1) {
    for (Index index = 0; index < count; ++index) task(index, 0);
    return;
  }
  std::exception_ptr failure;
  Index failed_at = std::numeric_limits<Index>::max();
  std::mutex guard;
#pragma omp parallel for schedule(dynamic, 1) num_threads(workers)
  for (Index index = 0; index < count; ++index) {
    try {
      task(index, omp_get_thread_num());
    } catch (...) {
      const std::lock_guard<std::mutex> lock(guard);
      if (index < failed_at) {
        failed_at = index;
        failure = std::current_exception();
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace attn
