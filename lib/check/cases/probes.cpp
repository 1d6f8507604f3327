#include "check/cases/probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "check/cases/case_file.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/text.h"

namespace attn {
namespace {

double in_type(double value, DType type) {
  switch (type) {
    case DType::kF16:
      return f16_to_float(float_to_f16(static_cast<float>(value)));
    case DType::kBF16:
      return bf16_to_float(float_to_bf16(static_cast<float>(value)));
    case DType::kF64:
      return value;
    default:
      return static_cast<float>(value);
  }
}

class ProbeMaker {
 public:
  explicit ProbeMaker(const ProbeSettings& settings)
      : settings_(settings),
        heads_(settings.rules.heads.value_or(4)),
        kv_heads_(settings.rules.kv_heads.value_or(heads_)),
        rng_(settings.seed, RandomPurpose::kExample, 17) {
    if (kv_heads_ < 1 || heads_ % kv_heads_ != 0) {
      throw UsageError(
          fmt::format("--kv-heads must divide --heads: {} does not divide {}", kv_heads_, heads_));
    }
    const Index dim = settings.head_dim;
    const Index largest[] = {kBatch, heads_, std::max(dim, kLongest), dim};
    const auto numbers = checked_product(largest);
    if (!numbers || *numbers > kMostNumbers) {
      throw UsageError(
          fmt::format("probes of {} heads with {} features are too large: want at most {} numbers "
                      "in a tensor",
                      heads_, dim, grouped(kMostNumbers)));
    }
  }

  std::vector<KernelProbe> make() {
    plain();
    identity();
    marks();
    reordered();
    magnitudes();
    lengths();
    for (const ProbeInput input : settings_.inputs) further(input);
    for (KernelProbe& probe : probes_) round(probe.asked);
    return std::move(probes_);
  }

 private:
  static constexpr Index kBatch = 2;
  static constexpr Index kRows = 24;
  static constexpr Index kLongest = 129;
  static constexpr Index kPageSize = 4;
  // Half a gigabyte in float64.
  static constexpr Index kMostNumbers = Index{1} << 26;

  Tensor<double> random(Index heads, Index rows, double size) {
    Tensor<double> tensor({kBatch, heads, rows, settings_.head_dim});
    for (double& value : tensor.values) value = size * rng_.normal();
    return tensor;
  }

  AttentionCase tokens(Index rows, Index keys, double size = 1.5) {
    AttentionCase asked;
    asked.problem.q = random(heads_, rows, size);
    asked.problem.k = random(kv_heads_, keys, size);
    asked.problem.v = random(kv_heads_, keys, 1);
    apply(settings_.rules, asked);
    return asked;
  }

  KernelProbe& add(const char* name, const char* reveals, AttentionCase asked) {
    probes_.push_back({name, reveals, std::move(asked)});
    return probes_.back();
  }

  void plain() {
    base_ = tokens(kRows, kRows);
    add("plain", "scale, causality, window, softmax, heads", base_);
  }

  // As many keys as features: row j of v is the unit vector j, and out is the weights.
  void identity() {
    AttentionCase asked = tokens(kRows, settings_.head_dim);
    Tensor<double>& v = asked.problem.v;
    const Index features = settings_.head_dim;
    for (std::size_t n = 0; n < v.values.size(); ++n) {
      const auto at = static_cast<Index>(n);
      v.values[n] = at / features % features == at % features ? 1 : 0;
    }
    add("identity", "out is the weights themselves: what each row looks at", std::move(asked));
  }

  // All keys of a sequence and key-value head have one value, which is what out must be.
  void marks() {
    AttentionCase asked = tokens(kRows, kRows);
    AttentionProblem& problem = asked.problem;
    const Index features = settings_.head_dim;
    for (std::size_t n = 0; n < problem.v.values.size(); ++n) {
      const auto at = static_cast<Index>(n);
      const Index head = at / (features * kRows);
      problem.v.values[n] = static_cast<double>(head + 1) + static_cast<double>(at % features) / 64;
    }
    add("marks", "heads, sequences or features that are mixed up", std::move(asked));
  }

  void reordered() {
    AttentionCase asked = base_;
    std::vector<Index> order(kRows);
    for (Index i = 0; i < kRows; ++i) order[static_cast<std::size_t>(i)] = (i * 7 + 3) % kRows;
    asked.problem = permuted(base_.problem, order);
    add("permuted", "the tokens of plain in another order: what depends on their places",
        std::move(asked));
    AttentionCase changed = base_;
    const Index features = settings_.head_dim;
    for (Tensor<double>* tensor : {&changed.problem.k, &changed.problem.v}) {
      for (std::size_t n = 0; n < tensor->values.size(); ++n) {
        const Index key = static_cast<Index>(n) / features % kRows;
        if (key >= kRows / 2) tensor->values[n] = 4 * tensor->values[n] + 1;
      }
    }
    add("changed-future", "plain with other late keys: rows that read what they may not",
        std::move(changed));
  }

  // Scores of hundreds overflow an exp without its maximum; 48 * 48 * head_dim leaves float16
  // before it is scaled from head_dim 29 on.
  void magnitudes() {
    add("large-scores", "softmax without its maximum, overflow", tokens(kRows, kRows, 12));
    AttentionCase asked = tokens(kRows, kRows);
    const Index features = settings_.head_dim;
    const double size = std::max(48.0, std::sqrt(70000.0 / static_cast<double>(features)));
    for (Tensor<double>* tensor : {&asked.problem.q, &asked.problem.k}) {
      for (std::size_t n = 0; n < tensor->values.size(); ++n) {
        if (static_cast<Index>(n) / features % kRows == 1) tensor->values[n] = size;
      }
    }
    add("heavy-key", "one key that draws all of a row; q.k beyond float16", std::move(asked));
    AttentionCase sink = tokens(kRows, kRows, 0.5);
    for (std::size_t n = 0; n < sink.problem.k.values.size(); ++n) {
      if (static_cast<Index>(n) / features % kRows == 0) sink.problem.k.values[n] *= 12;
    }
    add("first-key", "a first token that rows differ about: windows, dropped keys",
        std::move(sink));
  }

  void lengths() {
    add("one-token", "one key gives its value", tokens(1, 1));
    add("one-query", "a query after the past: alignment, the last key", tokens(1, kRows));
    add("few-queries", "fewer queries than keys: alignment, windows", tokens(5, 19));
    add("few-keys", "more queries than keys: alignment, rows that see nothing", tokens(19, 5));
    add("tile-64", "64 keys exactly: off by one at a tile's edge", tokens(64, 64));
    add("tile-65", "one key beyond a tile of 64 or 32 or 16", tokens(65, 65));
    add("tile-129", "one beyond a tile of 128; tiles rescaled as the maximum grows",
        growing(kLongest));
  }

  // Later keys score higher, so that a running maximum changes from tile to tile.
  AttentionCase growing(Index rows) {
    AttentionCase asked = tokens(rows, rows, 1);
    const Index features = settings_.head_dim;
    for (std::size_t n = 0; n < asked.problem.k.values.size(); ++n) {
      const Index key = static_cast<Index>(n) / features % rows;
      asked.problem.k.values[n] *= 1 + 3 * static_cast<double>(key) / static_cast<double>(rows);
    }
    return asked;
  }

  void further(ProbeInput input) {
    AttentionCase asked = tokens(kRows, kRows);
    AttentionProblem& problem = asked.problem;
    switch (input) {
      case ProbeInput::kMask:
        problem.rules.mask_type = MaskType::kBool;
        problem.mask = mask(1, 0);
        add("mask", "a boolean mask inverted, ignored; a row that sees nothing", std::move(asked));
        return;
      case ProbeInput::kAdditiveMask:
        problem.rules.mask_type = MaskType::kAdditive;
        problem.mask = mask(0, -std::numeric_limits<double>::infinity());
        for (double& value : problem.mask->values) {
          if (std::isfinite(value)) value = 0.5 * rng_.normal();
        }
        add("additive-mask", "a mask that is not added, or scaled; a row that sees nothing",
            std::move(asked));
        return;
      case ProbeInput::kKvLens:
        problem.kv_lens = {kRows - 5, 7};
        poison(problem);
        add("kv-lens", "padding that is read: it holds NaN", std::move(asked));
        return;
      case ProbeInput::kSinks:
        for (Index h = 0; h < heads_; ++h) problem.sinks.push_back(static_cast<double>(2 + h % 3));
        add("sinks", "sinks ignored, or scaled as scores are", std::move(asked));
        return;
      case ProbeInput::kAlibiSlopes:
        for (Index h = 0; h < heads_; ++h) {
          problem.alibi_slopes.push_back(
              std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(heads_)));
        }
        add("alibi", "slopes ignored, of the wrong sign, or of another head", std::move(asked));
        return;
      case ProbeInput::kPages:
        problem.kv_lens = {kRows - 5, 7};
        problem.pages = std::make_shared<const KeyPages>(
            scattered(problem.k, problem.v, problem.kv_lens, kPageSize, rng_));
        add("pages", "a block table ignored, or read in another order; the rest of last pages",
            std::move(asked));
        return;
    }
  }

  Tensor<double> mask(double shown, double hidden) {
    Tensor<double> made({kBatch, 1, kRows, kRows});
    for (std::size_t n = 0; n < made.values.size(); ++n) {
      const Index row = static_cast<Index>(n) / kRows % kRows;
      const bool dead = row == kRows - 2;
      made.values[n] = !dead && rng_.uniform() < 0.6 ? shown : hidden;
    }
    return made;
  }

  void poison(AttentionProblem& problem) const {
    const Index features = settings_.head_dim;
    for (Tensor<double>* tensor : {&problem.k, &problem.v}) {
      for (std::size_t n = 0; n < tensor->values.size(); ++n) {
        const auto at = static_cast<Index>(n);
        const Index b = at / (features * kRows * kv_heads_);
        if (at / features % kRows >= problem.kv_lens[static_cast<std::size_t>(b)]) {
          tensor->values[n] = std::numeric_limits<double>::quiet_NaN();
        }
      }
    }
  }

  static void round(AttentionCase& asked) {
    AttentionProblem& problem = asked.problem;
    const DType type = problem.rules.dtype;
    for (Tensor<double>* tensor : {&problem.q, &problem.k, &problem.v}) {
      for (double& value : tensor->values) value = in_type(value, type);
    }
    if (problem.pages) {
      KeyPages pages = *problem.pages;
      for (Tensor<double>* pool : {&pages.k, &pages.v}) {
        for (double& value : pool->values) value = in_type(value, type);
      }
      problem.pages = std::make_shared<const KeyPages>(std::move(pages));
    }
    // A mask and slopes come in float32 unless all is float64.
    const DType side = type == DType::kF64 ? DType::kF64 : DType::kF32;
    if (problem.mask) {
      for (double& value : problem.mask->values) value = in_type(value, side);
    }
    for (std::vector<double>* numbers : {&problem.alibi_slopes, &problem.sinks}) {
      for (double& value : *numbers) value = in_type(value, side);
    }
  }

  const ProbeSettings& settings_;
  Index heads_;
  Index kv_heads_;
  Rng rng_;
  AttentionCase base_;
  std::vector<KernelProbe> probes_;
};

}  // namespace

std::optional<ProbeInput> parse_probe_input(std::string_view word) {
  std::string plain(word);
  std::replace(plain.begin(), plain.end(), '_', '-');
  if (plain == "mask") return ProbeInput::kMask;
  if (plain == "additive-mask") return ProbeInput::kAdditiveMask;
  if (plain == "kv-lens") return ProbeInput::kKvLens;
  if (plain == "sinks") return ProbeInput::kSinks;
  if (plain == "alibi-slopes") return ProbeInput::kAlibiSlopes;
  if (plain == "pages") return ProbeInput::kPages;
  return std::nullopt;
}

std::vector<KernelProbe> make_probes(const ProbeSettings& settings) {
  return ProbeMaker(settings).make();
}

}  // namespace attn
