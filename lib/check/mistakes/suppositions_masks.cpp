// Mistakes about masks: what their numbers mean, and what stands for minus infinity.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "check/mistakes/supposition_list.h"

namespace attn {
namespace {

using Problem = AttentionProblem;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool has_mask(const Problem& problem, MaskType type) {
  return problem.mask && problem.rules.mask_type == type;
}

bool any_dead(const Problem& problem) {
  for (Index b = 0; b < problem.batch(); ++b) {
    for (Index h = 0; h < problem.heads(); ++h) {
      for (Index i = 0; i < problem.q_len(); ++i) {
        bool dead = problem.kv_len() > 0;
        const Sight sight = sight_of(problem, b, i);
        for (Index j = sight.first; dead && j < sight.end; ++j) {
          dead = !mask_allows(problem, b, h, i, j);
        }
        if (dead) return true;
      }
    }
  }
  return false;
}

void suppose_dead_rows(SuppositionList& list) {
  const Problem& given = list.problem();
  if (!any_dead(given)) return;
  list.twisted("fully-masked-mean", Twist::kMeanWhereDead, 0)
      .says("rows that may see nothing hold the mean of the values")
      .tells_rows();
  if (!given.kv_lens.empty() || !given.cu_seqlens_q.empty()) {
    list.twisted("fully-masked-mean", Twist::kMeanWhereDead, 1)
        .says("rows that may see nothing hold the mean of all values, padding too")
        .tells_rows();
  }
  const bool nan = given.rules.fully_masked == FullyMasked::kZero;
  list.seen(nan ? "fully-masked-nan" : "fully-masked-zero",
            [nan](Problem& p) {
              p.rules.fully_masked = nan ? FullyMasked::kNan : FullyMasked::kZero;
            })
      .says(nan ? "rows that may see nothing are NaN" : "rows that may see nothing are 0")
      .tells_rows();
}

// A mask of zeros and ones whose numbers join the scores; each one times `factor`.
void add_numbers(SuppositionList& list, const char* says, double one, double zero, bool scaled) {
  list.seen("mask-added-as-numbers",
            [=](Problem& p) {
              if (!has_mask(p, MaskType::kBool)) return;
              p.rules.mask_type = MaskType::kAdditive;
              const double factor = scaled ? p.scale() : 1;
              for (double& value : p.mask->values) value = factor * (value == 0 ? zero : one);
            })
      .says(says);
}

void suppose_bool_mask(SuppositionList& list) {
  if (!has_mask(list.problem(), MaskType::kBool)) return;
  list.mask_becomes("mask-inverted", [](double value, double) { return value == 0 ? 1.0 : 0.0; })
      .says("1 was read as hidden");
  add_numbers(list, "1 was added to the scores that may be seen, nothing was hidden", 1, 0, false);
  add_numbers(list, "1 was added to the scores that are to be hidden", 0, 1, false);
  add_numbers(list, "1 was added before the scale", 1, 0, true);
}

void suppose_additive_mask(SuppositionList& list) {
  if (!has_mask(list.problem(), MaskType::kAdditive)) return;
  list.mask_becomes("mask-before-scale", [](double value, double scale) { return value * scale; })
      .says(fmt::format("its numbers were multiplied by the scale {:.4g} too",
                        list.problem().scale()));
  list.mask_becomes("mask-inverted",
                    [](double value, double) { return value == -kInfinity ? 0.0 : -kInfinity; })
      .says("minus infinity and the rest were exchanged");
  list.mask_becomes("mask-inverted",
                    [](double value, double) { return value == -kInfinity ? value : -value; })
      .says("its numbers were subtracted")
      .alone();
  list.mask_becomes("mask-ignored",
                    [](double value, double) { return value == -kInfinity ? value : 0.0; })
      .says("its finite numbers were left out")
      .alone();
  list.mask_becomes("mask-ignored",
                    [](double value, double) { return value == -kInfinity ? 0.0 : value; })
      .says("its minus infinities were left out")
      .alone();
}

void suppose_mask_places(SuppositionList& list) {
  const Problem& given = list.problem();
  const Tensor<double>& mask = *given.mask;
  if (mask.dim(2) > 1 && mask.dim(2) == mask.dim(3)) {
    list.seen("mask-transposed",
              [](Problem& p) {
                if (!p.mask || p.mask->dim(2) != p.mask->dim(3)) return;
                const Index side = p.mask->dim(2);
                for (Index map = 0; map < p.mask->size() / (side * side); ++map) {
                  double* values = p.mask->data() + map * side * side;
                  for (Index i = 0; i < side; ++i) {
                    for (Index j = 0; j < i; ++j)
                      std::swap(values[i * side + j], values[j * side + i]);
                  }
                }
              })
        .says("rows were read as columns")
        .alone();
  }
  if (mask.dim(1) > 1) {
    list.seen("mask-head-reuse",
              [](Problem& p) {
                if (!p.mask) return;
                const Index each = p.mask->dim(2) * p.mask->dim(3);
                for (Index map = 0; map < p.mask->dim(0) * p.mask->dim(1); ++map) {
                  const Index first = map / p.mask->dim(1) * p.mask->dim(1);
                  std::copy_n(p.mask->data() + first * each, each, p.mask->data() + map * each);
                }
              })
        .says("all heads had the mask of head 0")
        .alone();
  }
  if (given.rules.causal && has_mask(given, MaskType::kBool)) {
    list.allowed("mask-or-causal",
                 [](const Problem& p, Index b, Index h, Index i, Index j) {
                   const Sight sight = sight_of(p, b, i);
                   const bool sighted = j >= sight.first && j < sight.end;
                   return sighted || (j < key_limit(p, b, i) && mask_allows(p, b, h, i, j));
                 })
        .says("a key was seen where mask or causality shows it, not both")
        .alone();
  }
}

}  // namespace

void suppose_sentinels(SuppositionList& list) {
  const Problem& given = list.problem();
  const bool several =
      (given.rules.causal ? 1 : 0) + (given.mask ? 1 : 0) + (given.rules.window_left >= 0 ? 1 : 0) >
      1;
  const auto hidden = [&](Twist by_number, Twist by_addition, double number, const char* which) {
    list.twisted("mask-sentinel-finite", by_number, number)
        .says(fmt::format("{} scores are {:.6g}", which, number))
        .tells_rows();
    list.twisted("mask-sentinel-finite", by_addition, number)
        .says(fmt::format("{} scores have {:.6g} added", which, number))
        .tells_rows();
  };
  if (!hides(given)) return;
  // Stand-ins for minus infinity that real code uses; the small ones move other rows as well.
  for (double number : {-1.0, -10.0, -100.0, -1e3, -1e4, -5e4, -65504.0, -1e5, -1e6, -1e9,
                        -3.4028234663852886e38}) {
    hidden(Twist::kHiddenByNumber, Twist::kHiddenByAddition, number, "hidden");
    if (!several) continue;
    if (given.rules.causal) {
      hidden(Twist::kLaterByNumber, Twist::kLaterByAddition, number, "later keys'");
    }
    if (given.mask) hidden(Twist::kMaskedByNumber, Twist::kMaskedByAddition, number, "masked");
  }
  list.twisted("mask-sentinel-finite", Twist::kHiddenByNumber, 0)
      .says("hidden scores are 0")
      .tells_rows();
}

void suppose_masks(SuppositionList& list) {
  const Problem& given = list.problem();
  suppose_dead_rows(list);
  suppose_bool_mask(list);
  suppose_additive_mask(list);
  if (given.mask) {
    list.seen("mask-ignored", [](Problem& p) { p.mask.reset(); });
    suppose_mask_places(list);
  }
  if (given.rules.causal) {
    list.twisted("mask-added-as-numbers", Twist::kCausalAdded)
        .says("1 was added on and below the causal diagonal, nothing was hidden")
        .alone();
  }
  if (!hides(given)) return;
  const std::vector<double>& values = given.v.values;
  if (!std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); })) {
    list.twisted("non-finite", Twist::kHiddenTimesZero)
        .says("hidden values are multiplied by 0, which NaN and infinity survive")
        .alone();
  }
  list.twisted("mask-after-softmax", Twist::kMaskAfterSoftmax)
      .says("weights of hidden keys were set to 0 after the softmax");
  const bool window = given.rules.window_left >= 0 || given.rules.window_right >= 0;
  if ((given.mask ? 1 : 0) + (given.rules.causal ? 1 : 0) + (window ? 1 : 0) > 1) {
    const auto one = [&list](double kind, const char* says) {
      list.twisted("mask-after-softmax", Twist::kMaskAfterSoftmax, kind).says(says).alone();
    };
    if (has_mask(given, MaskType::kBool)) one(1, "weights that the mask hides were set to 0 late");
    if (given.rules.causal) one(2, "weights of later keys were set to 0 after the softmax");
    if (window) one(3, "weights beyond the window were set to 0 after the softmax");
  }
}

}  // namespace attn
