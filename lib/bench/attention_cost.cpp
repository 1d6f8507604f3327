#include "bench/attention_cost.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/stopwatch.h"
#include "core/arena.h"
#include "core/rng.h"
#include "ops/attend.h"
#include "ops/gemm.h"
#include "ops/softmax.h"

namespace attn {

namespace {

std::vector<float> normal_numbers(Index count, std::uint64_t seed, std::uint32_t stream) {
  Rng rng(seed, RandomPurpose::kBenchmark, stream);
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& number : numbers) number = static_cast<float>(rng.normal());
  return numbers;
}

// The same tokens for both ways.
class CostSubject {
 public:
  CostSubject(const CostSettings& settings, Index seq_len)
      : shape_{settings.heads, settings.heads, settings.head_dim, settings.head_dim},
        rows_(seq_len),
        width_(settings.heads * settings.head_dim),
        q_(normal_numbers(rows_ * width_, settings.seed, 0)),
        k_(normal_numbers(rows_ * width_, settings.seed, 1)),
        v_(normal_numbers(rows_ * width_, settings.seed, 2)) {}

  // Each returns the bytes it took, and keeps what it computed in `out`.
  Index run_fast(std::vector<float>* out) const {
    Arena arena;
    const Matrix<float> made = arena.matrix<float>(rows_, width_);
    float* lse = arena.allocate<float>(shape_.heads * rows_);
    const KvRun<float> run = {view(k_), view(v_)};
    attend<float>(shape_, view(q_), {&run, 1}, {}, made, {lse, nullptr, nullptr}, arena);
    return kept(made, out, arena);
  }

  Index run_whole(std::vector<float>* out) const {
    Arena arena;
    const Matrix<float> made = arena.matrix<float>(rows_, width_);
    float* lse = arena.allocate<float>(shape_.heads * rows_);
    const Matrix<float> weights = arena.matrix<float>(shape_.heads * rows_, rows_);
    const float scale = 1 / std::sqrt(static_cast<float>(shape_.head_dim));
    for (Index h = 0; h < shape_.heads; ++h) {
      const Matrix<float> map = weights.row_block(h * rows_, rows_);
      const Index column = h * shape_.head_dim;
      gemm<float>(Transpose::kNo, Transpose::kYes, scale,
                  view(q_).col_block(column, shape_.head_dim),
                  view(k_).col_block(column, shape_.head_dim), 0, map);
      softmax_rows<float>(map, lse + h * rows_);
      gemm<float>(Transpose::kNo, Transpose::kNo, 1, map,
                  view(v_).col_block(column, shape_.head_dim), 0,
                  made.col_block(column, shape_.head_dim));
    }
    return kept(made, out, arena);
  }

 private:
  Matrix<const float> view(const std::vector<float>& table) const {
    return {table.data(), rows_, width_};
  }

  static Index kept(Matrix<float> made, std::vector<float>* out, const Arena& arena) {
    if (out != nullptr) out->assign(made.data(), made.data() + made.size());
    return static_cast<Index>(arena.peak_bytes());
  }

  const HeadShape shape_;
  const Index rows_, width_;
  const std::vector<float> q_, k_, v_;
};

}  // namespace

std::optional<Index> weight_bytes(const CostSettings& settings, Index seq_len) {
  const Index extents[] = {settings.heads, seq_len, seq_len, Index{sizeof(float)}};
  return checked_product(extents);
}

CostPoint measure_cost(const CostSettings& settings, Index seq_len) {
  const CostSubject subject(settings, seq_len);
  CostPoint point;
  point.seq_len = seq_len;
  point.flops = 4 * static_cast<double>(settings.heads) * static_cast<double>(seq_len) *
                static_cast<double>(seq_len) * static_cast<double>(settings.head_dim);
  const auto weights = weight_bytes(settings, seq_len);
  const bool whole = weights && *weights <= settings.max_bytes;
  const Index ways = whole ? 2 : 1;
  std::vector<float> of_fast;
  const Stopwatch watch;
  point.fast_bytes = subject.run_fast(&of_fast);
  if (whole) {
    std::vector<float> of_whole;
    point.whole_bytes = subject.run_whole(&of_whole);
    for (std::size_t n = 0; n < of_fast.size(); ++n) {
      const double gap = std::abs(static_cast<double>(of_fast[n]) - of_whole[n]);
      point.max_difference = std::max(point.max_difference, gap);
    }
  }
  const double round_seconds = static_cast<double>(watch.elapsed().wall_ns) * 1e-9;
  const Interleaving how =
      within_budget({1, 7, settings.seed}, round_seconds, settings.budget_seconds);
  run_interleaved(ways, how, [&](Index way, bool timed) {
    const Stopwatch run;
    if (way == 0) {
      subject.run_fast(nullptr);
    } else {
      subject.run_whole(nullptr);
    }
    const std::int64_t taken = run.elapsed().wall_ns;
    if (timed) (way == 0 ? point.fast_ns : point.whole_ns).add(taken);
  });
  return point;
}

double fitted_exponent(const std::vector<double>& x, const std::vector<double>& y) {
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  const auto count = static_cast<double>(x.size());
  double mean_x = 0;
  double mean_y = 0;
  for (std::size_t n = 0; n < x.size(); ++n) {
    if (!(x[n] > 0) || !(y[n] > 0)) return nothing;
    mean_x += std::log(x[n]) / count;
    mean_y += std::log(y[n]) / count;
  }
  double square = 0;
  double product = 0;
  for (std::size_t n = 0; n < x.size(); ++n) {
    const double step = std::log(x[n]) - mean_x;
    square += step * step;
    product += step * (std::log(y[n]) - mean_y);
  }
  return square > 1e-12 ? product / square : nothing;
}

CostExponents cost_exponents(const std::vector<CostPoint>& points) {
  std::vector<double> lengths, fast_time, fast_memory;
  std::vector<double> whole_lengths, whole_time, whole_memory;
  for (const CostPoint& point : points) {
    const auto length = static_cast<double>(point.seq_len);
    lengths.push_back(length);
    fast_time.push_back(point.fast_ns.median());
    fast_memory.push_back(static_cast<double>(point.fast_bytes));
    if (!point.has_whole()) continue;
    whole_lengths.push_back(length);
    whole_time.push_back(point.whole_ns.median());
    whole_memory.push_back(static_cast<double>(point.whole_bytes));
  }
  return {fitted_exponent(lengths, fast_time), fitted_exponent(lengths, fast_memory),
          fitted_exponent(whole_lengths, whole_time), fitted_exponent(whole_lengths, whole_memory)};
}

}  // namespace attn
