#include "bench/quality.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>

#include "core/error.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "model/log_probability.h"
#include "model/scoring.h"
#include "ops/softmax.h"

namespace attn {
namespace {

// Most tokens that are read at a time, and most logits that this may make: the probabilities of a
// piece are held in double.
constexpr Index kPieceRows = 256;
constexpr Index kPieceLogits = Index{1} << 21;

// Linear between the neighbours in rank, as Samples::quantile(); reorders the values.
double quantile(std::vector<float>& values, double fraction) {
  const double place = fraction * static_cast<double>(values.size() - 1);
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), below, values.end());
  const double low = *below;
  if (below + 1 == values.end()) return low;
  const double high = *std::min_element(below + 1, values.end());
  return low + (place - std::floor(place)) * (high - low);
}

// What f32 says after each token of a piece.
struct Expected {
  std::vector<double> probabilities;      // (rows, vocab)
  std::vector<double> log_probabilities;  // the same
  std::vector<Index> top;                 // (rows)
};

// One way of storing: its cache and what was found of it so far.
struct Variant {
  std::size_t row = 0;         // of the report
  std::optional<Index> layer;  // where it is that layer alone
  std::unique_ptr<KvCache<float>> cache;
  double loss_sum = 0;
  double divergence_sum = 0;
  Index same_top = 0;
  std::vector<float> divergences;  // of each position; only where all layers store so
};

class Measurement {
 public:
  Measurement(const Transformer<float>& model, std::span<const Index> ids, const Score& cut,
              int threads)
      : model_(model),
        ids_(ids),
        cut_(cut),
        vocab_(model.config().vocab_size),
        piece_(std::clamp<Index>(kPieceLogits / vocab_, 1, std::min(kPieceRows, cut.window))),
        native_(model.make_cache(1, cut.window)),
        base_work_(threads) {
    for (int i = 0; i < threads; ++i) workers_.emplace_back(1);
  }

  /// All layers, and each layer alone where there are several.
  void add(std::size_t row, const KvTypes& types) {
    const Index depth = model_.config().depth;
    add_variant(row, types, std::nullopt);
    for (Index layer = 0; depth > 1 && layer < depth; ++layer) add_variant(row, types, layer);
  }

  void run(const std::function<void(Index, Index)>& progress) {
    for (Index window = 0; window < cut_.windows; ++window) {
      native_.truncate(0);
      for (Variant& variant : variants_) variant.cache->truncate(0);
      for (Index first = 0; first < cut_.window; first += piece_) {
        const Index at = window * cut_.window + first;
        read(at, std::min(piece_, cut_.window - first));
      }
      if (progress) progress(window + 1, cut_.windows);
    }
  }

  double native_loss_sum() const { return native_loss_sum_; }
  std::deque<Variant>& variants() { return variants_; }
  Index bytes_per_token(const Variant* variant) const {
    return (variant != nullptr ? *variant->cache : native_).row_bytes();
  }

 private:
  void add_variant(std::size_t row, const KvTypes& types, std::optional<Index> layer) {
    KvLayout layout;
    layout.k_type = types.keys;
    layout.v_type = types.values;
    layout.only_layer = layer;
    Variant variant;
    variant.row = row;
    variant.layer = layer;
    variant.cache = std::make_unique<KvCache<float>>(model_.make_cache(1, cut_.window, 0, layout));
    variants_.push_back(std::move(variant));
  }

  Matrix<float> logits(Workspace& work, KvCache<float>& cache, Index at, Index count) const {
    TokenInput input;
    input.ids = ids_.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count));
    input.rows = {1, count, nullptr};
    return model_.forward(model_.pass(work), input, &cache, nullptr);
  }

  Index target(Index at) const { return ids_[static_cast<std::size_t>(at) + 1]; }

  void read(Index at, Index count) {
    expect(at, count);
    const auto variants = static_cast<Index>(variants_.size());
    parallel_for(variants, static_cast<int>(workers_.size()), [&](Index index, int worker) {
      Workspace& work = workers_[static_cast<std::size_t>(worker)];
      compare(variants_[static_cast<std::size_t>(index)], work, at, count);
    });
  }

  // f32, whose threads share one pass.
  void expect(Index at, Index count) {
    const Arena::Scope scope(base_work_.arena());
    const Matrix<float> found = logits(base_work_, native_, at, count);
    const auto size = static_cast<std::size_t>(count * vocab_);
    expected_.probabilities.assign(found.data(), found.data() + size);
    expected_.log_probabilities.assign(found.data(), found.data() + size);
    expected_.top.clear();
    std::vector<double> log_sums(static_cast<std::size_t>(count));
    softmax_rows<double>({expected_.probabilities.data(), count, vocab_}, log_sums.data());
    for (Index i = 0; i < count; ++i) {
      double* const row = expected_.log_probabilities.data() + i * vocab_;
      for (Index token = 0; token < vocab_; ++token)
        row[token] -= log_sums[static_cast<std::size_t>(i)];
      native_loss_sum_ -= row[target(at + i)];
      expected_.top.push_back(
          largest_logit<float>({found.row(i), static_cast<std::size_t>(vocab_)}));
    }
  }

  void compare(Variant& variant, Workspace& work, Index at, Index count) const {
    const Arena::Scope scope(work.arena());
    const Matrix<float> found = logits(work, *variant.cache, at, count);
    const Matrix<double> softmax = work.arena().matrix<double>(1, vocab_);
    for (Index i = 0; i < count; ++i) {
      std::copy_n(found.row(i), vocab_, softmax.data());
      double log_sum = 0;
      softmax_rows<double>(softmax, &log_sum);
      const double* const p = expected_.probabilities.data() + i * vocab_;
      const double* const log_p = expected_.log_probabilities.data() + i * vocab_;
      double divergence = 0;
      for (Index token = 0; token < vocab_; ++token) {
        // A hidden token's 0 * (-inf) counts nothing.
        if (p[token] > 0)
          divergence +=
              p[token] * (log_p[token] - (static_cast<double>(found(i, token)) - log_sum));
      }
      // Never below 0 but by rounding; a NaN stays one.
      if (divergence < 0) divergence = 0;
      variant.loss_sum += log_sum - static_cast<double>(found(i, target(at + i)));
      variant.divergence_sum += divergence;
      if (variant.layer) continue;
      variant.divergences.push_back(static_cast<float>(divergence));
      const Index top = largest_logit<float>({found.row(i), static_cast<std::size_t>(vocab_)});
      if (top == expected_.top[static_cast<std::size_t>(i)]) ++variant.same_top;
    }
  }

  const Transformer<float>& model_;
  std::span<const Index> ids_;
  Score cut_;
  Index vocab_;
  Index piece_;
  KvCache<float> native_;
  Workspace base_work_;
  std::deque<Workspace> workers_;
  std::deque<Variant> variants_;
  Expected expected_;
  double native_loss_sum_ = 0;
};

// Asks before it is taken: the caches, and what a piece makes.
void require_quality_memory(const ModelConfig& config, const Score& cut, std::size_t pairs,
                            int threads) {
  const auto real = [](Index value) { return static_cast<double>(value); };
  const double row = 2 * real(config.depth) * real(config.kv_heads) * real(config.head_dim) * 4;
  const double caches = static_cast<double>(pairs) * real(config.depth + 1) + 1;
  const double piece =
      std::max(real(config.vocab_size), real(std::min(kPieceLogits, kPieceRows * cut.window)));
  require_memory("measuring the quality of caches",
                 caches * row * real(cut.window) + piece * (16 + 4 * real(threads + 1)) +
                     4 * static_cast<double>(pairs) * real(cut.targets));
}

}  // namespace

double QualityRow::perplexity() const {
  return std::exp(loss);
}

std::optional<Index> QualityRow::worst_layer() const {
  const auto worst = std::max_element(layer_divergence.begin(), layer_divergence.end());
  if (worst == layer_divergence.end() || !(*worst > 0)) return std::nullopt;
  return worst - layer_divergence.begin();
}

Quality measure_quality(const Transformer<float>& model, std::span<const Index> ids, Index window,
                        const std::vector<KvTypes>& pairs, int threads,
                        const std::function<void(Index, Index)>& progress) {
  const Score cut = cut_into_windows(model.config(), ids, window);
  threads = std::max(threads, 1);
  require_quality_memory(model.config(), cut, pairs.size(), threads);
  Quality quality;
  quality.targets = cut.targets;
  quality.window = cut.window;
  quality.windows = cut.windows;
  quality.rows.emplace_back();
  Measurement measurement(model, ids, cut, threads);
  for (const KvTypes& types : pairs) {
    if (types.exact()) continue;
    QualityRow row;
    row.types = types;
    measurement.add(quality.rows.size(), types);
    quality.rows.push_back(row);
  }
  measurement.run(progress);

  const auto targets = static_cast<double>(cut.targets);
  const auto depth = static_cast<std::size_t>(model.config().depth);
  for (QualityRow& row : quality.rows) row.layer_divergence.assign(depth, 0);
  quality.rows[0].bytes_per_token = measurement.bytes_per_token(nullptr);
  quality.rows[0].loss = measurement.native_loss_sum() / targets;
  for (Variant& variant : measurement.variants()) {
    QualityRow& row = quality.rows[variant.row];
    const double divergence = variant.divergence_sum / targets;
    if (variant.layer) {
      row.layer_divergence[static_cast<std::size_t>(*variant.layer)] = divergence;
      continue;
    }
    if (!std::isfinite(variant.loss_sum) || !std::isfinite(variant.divergence_sum)) {
      throw DataError(fmt::format("with a cache of {} the model's logits are not finite numbers",
                                  both_types_name(row.types)));
    }
    if (depth == 1) row.layer_divergence[0] = divergence;
    row.bytes_per_token = measurement.bytes_per_token(&variant);
    row.loss = variant.loss_sum / targets;
    row.mean_divergence = divergence;
    row.same_top = static_cast<double>(variant.same_top) / targets;
    row.largest_divergence =
        *std::max_element(variant.divergences.begin(), variant.divergences.end());
    row.high_divergence = quantile(variant.divergences, 0.99);
  }
  if (!std::isfinite(measurement.native_loss_sum()))
    throw DataError("the model's logits are not finite numbers");
  return quality;
}

}  // namespace attn
