#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bench/interleave.h"
#include "bench/samples.h"
#include "core/index.h"

namespace attn {

/// What self-attention of `seq_len` tokens costs, computed in two ways: by the fast kernel, which
/// keeps a tile of scores at a time, and by the one that writes all weights down, heads * seq_len
/// * seq_len numbers, as the formula reads. float32, one thread, no mask.
struct CostPoint {
  Index seq_len = 0;
  /// 2 * (q.k and the mix): 4 * heads * seq_len^2 * head_dim.
  double flops = 0;
  Samples fast_ns;
  /// Beside q, k and v: out, log-sum-exp and working memory, as the allocator counts them.
  Index fast_bytes = 0;
  Samples whole_ns;  // empty where the weights did not fit
  Index whole_bytes = 0;
  /// Largest difference of the two outputs, which are computed from the same tokens.
  double max_difference = 0;

  bool has_whole() const { return whole_ns.count() > 0; }
};

struct CostSettings {
  std::vector<Index> seq_lens;
  Index heads = 4;
  Index head_dim = 64;
  std::uint64_t seed = 0;
  Index max_bytes = Index{4} << 30;  // weights beyond these are not written down
  double budget_seconds = 20;        // for one length
};

/// Both kernels at one length, in alternation: warm-up, then rounds whose medians count.
CostPoint measure_cost(const CostSettings& settings, Index seq_len);

/// Bytes of the weights that are written down; none where they cannot be counted.
std::optional<Index> weight_bytes(const CostSettings& settings, Index seq_len);

/// The exponent e of y = c * x^e, by least squares on logarithms. NaN for fewer than two different
/// positive x, or where some y is not positive.
double fitted_exponent(const std::vector<double>& x, const std::vector<double>& y);

/// The exponents of time and memory over all lengths; NaN where there are too few.
struct CostExponents {
  double fast_time = 0, fast_memory = 0, whole_time = 0, whole_memory = 0;
};
CostExponents cost_exponents(const std::vector<CostPoint>& points);

}  // namespace attn
