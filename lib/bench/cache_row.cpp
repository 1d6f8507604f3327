#include "bench/cache_row.h"

#include <fmt/core.h>

#include "core/error.h"
#include "core/text.h"

namespace attn {

std::optional<double> CacheRow::bytes_per_step() const {
  if (!kv_bytes_read || !weight_bytes_read) return std::nullopt;
  return static_cast<double>(*kv_bytes_read + *weight_bytes_read) /
         static_cast<double>(step_count());
}

std::optional<double> CacheRow::bandwidth() const {
  if (!kv_bytes_read || !weight_bytes_read) return std::nullopt;
  return static_cast<double>(*kv_bytes_read + *weight_bytes_read) * 1e9 / wall.median();
}

std::vector<double> CacheRow::step_medians() const {
  std::vector<double> medians;
  medians.reserve(steps.size());
  for (const Samples& step : steps) medians.push_back(step.median());
  return medians;
}

KeyRowFormula key_row_formula(std::string_view phase, bool cached, const DecodeWork& work) {
  const Index n = work.new_tokens;
  const Index p = work.prompt;
  const auto all = checked_add(n, p);
  if (!all || !checked_mul(*all, *all))
    throw UsageError(fmt::format("the key rows of {} tokens leave 63 bits", grouped(work.total())));
  if (phase == "prefill") return p == 0 ? KeyRowFormula{n, "n"} : KeyRowFormula{p, "P"};
  if (p == 0) return cached ? KeyRowFormula{n, "n"} : KeyRowFormula{n * (n + 1) / 2, "n(n+1)/2"};
  if (phase == "decode") {
    return cached ? KeyRowFormula{n - 1, "N-1"}
                  : KeyRowFormula{(n - 1) * p + n * (n - 1) / 2, "(N-1)P + N(N-1)/2"};
  }
  return cached ? KeyRowFormula{p + n - 1, "P+N-1"}
                : KeyRowFormula{n * p + n * (n - 1) / 2, "NP + N(N-1)/2"};
}

}  // namespace attn
