#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "ops/attend.h"

namespace attn {

/// Goes through runs of keys and values tile by tile; tiles need not end where runs do.
template <class T>
class RunWalk {
 public:
  explicit RunWalk(std::span<const KvRun<T>> runs) : runs_(runs) {}

  /// Calls use(at, part) for what each run has of the keys key0 .. key0 + keys - 1, in order;
  /// `part` begins with key key0 + at. The keys lie behind those of the last call.
  template <class Use>
  void next(Index key0, Index keys, const Use& use) {
    for (Index done = 0; done < keys;) {
      const KvRun<T>& run = runs_[at_];
      const Index first = key0 + done - base_;
      if (first >= run.k.rows()) {
        base_ += run.k.rows();
        ++at_;
        continue;
      }
      const Index rows = std::min(keys - done, run.k.rows() - first);
      use(done, KvRun<T>{run.k.row_block(first, rows), run.v.row_block(first, rows)});
      done += rows;
    }
  }

 private:
  std::span<const KvRun<T>> runs_;
  std::size_t at_ = 0;  // run
  Index base_ = 0;      // key that it begins with
};

}  // namespace attn
