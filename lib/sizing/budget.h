#pragma once

#include <functional>
#include <optional>

#include "core/index.h"
#include "sizing/cache_spec.h"
#include "sizing/kv_bytes.h"

namespace attn {

/// What a GPU (one rank) has for the cache.
struct Budget {
  Index memory = 0;    ///< of one rank
  Index weights = 0;   ///< of all ranks together
  Index reserved = 0;  ///< of one rank, for everything else
  Index ranks = 1;

  Index weights_per_rank() const;
  /// memory less weights and reserve; negative where they do not fit.
  Index for_cache() const;
};

/// What one rank holds for that question: rows and states. Nothing where it leaves 63 bits.
std::optional<Index> rank_bytes(const CacheSpec& spec, const CacheQuestion& question);

/// The largest number from 1 to `most` for which `fits` holds, where it holds up to some number and
/// for none beyond; 0 if not even for 1. Exact, by doubling and halving.
Index largest_that_fits(Index most, const std::function<bool(Index)>& fits);

/// Numbers beyond which nothing is looked for: a cache that does not grow fits any.
inline constexpr Index kUnbounded = Index{1} << 40;

/// The most tokens of each sequence of the question, and the most sequences of its length, whose
/// cache is at most `bytes` on a rank. Growth is piecewise linear, so this is a search. kUnbounded
/// where nothing grows.
Index largest_context(const CacheSpec& spec, CacheQuestion question, Index bytes);
Index largest_batch(const CacheSpec& spec, CacheQuestion question, Index bytes);

}  // namespace attn
