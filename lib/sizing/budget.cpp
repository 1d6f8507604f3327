#include "sizing/budget.h"

#include <string_view>

#include "core/ceil_div.h"
#include "core/error.h"

namespace attn {

Index Budget::weights_per_rank() const {
  return ceil_div(weights, ranks);
}

Index Budget::for_cache() const {
  return memory - weights_per_rank() - reserved;
}

std::optional<Index> rank_bytes(const CacheSpec& spec, const CacheQuestion& question) {
  try {
    const KvBytes bytes = kv_bytes(spec, question);
    return checked_add(bytes.rank, bytes.rank_state);
  } catch (const UsageError& error) {
    // Whatever else is wrong with the question shows at its smallest, which is asked first.
    if (std::string_view(error.what()).starts_with("too large")) return std::nullopt;
    throw;
  }
}

Index largest_that_fits(Index most, const std::function<bool(Index)>& fits) {
  if (most < 1 || !fits(1)) return 0;
  Index good = 1;
  while (good <= most / 2 && fits(good * 2)) good *= 2;
  Index bad = good <= most / 2 ? good * 2 : most + 1;  // bad is not known to fit, good is
  if (bad > most && fits(most)) return most;
  while (bad - good > 1) {
    const Index middle = good + (bad - good) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  return good;
}

Index largest_context(const CacheSpec& spec, CacheQuestion question, Index bytes) {
  return largest_that_fits(kUnbounded, [&](Index tokens) {
    question.lengths.tokens = tokens;
    const auto needed = rank_bytes(spec, question);
    return needed && *needed <= bytes;
  });
}

Index largest_batch(const CacheSpec& spec, CacheQuestion question, Index bytes) {
  return largest_that_fits(kUnbounded, [&](Index sequences) {
    question.lengths.sequences = sequences;
    const auto needed = rank_bytes(spec, question);
    return needed && *needed <= bytes;
  });
}

}  // namespace attn
