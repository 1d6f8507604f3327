// Mistakes about which keys a query sees: masks, causality, windows, padding and packing.

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <vector>

#include "check/supposition_list.h"

namespace attn {
namespace {

using Problem = AttentionProblem;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One after the last key of the query's own sequence that is no padding.
Index key_limit(const Problem& problem, Index b, Index i) {
  Index limit =
      problem.kv_lens.empty() ? problem.kv_len() : problem.kv_lens[static_cast<std::size_t>(b)];
  if (problem.cu_seqlens_q.empty()) return limit;
  const std::vector<Index>& starts = problem.cu_seqlens_q;
  const auto next = std::upper_bound(starts.begin(), starts.end(), i) - starts.begin();
  return std::min(limit, problem.cu_seqlens_k[static_cast<std::size_t>(next)]);
}

// The first `count` rows of each head go behind the others.
void roll_rows(Tensor<double>& tensor, Index count) {
  const Index size = tensor.dim(2) * tensor.dim(3);
  for (Index head = 0; size > 0 && head < tensor.dim(0) * tensor.dim(1); ++head) {
    const auto begin = tensor.values.begin() + head * size;
    std::rotate(begin, begin + count * tensor.dim(3), begin + size);
  }
}

// -1 is no window, and none has nothing to be moved.
void shift(Index& window, Index change) {
  if (window >= 0) window += change;
}

bool has_mask(const Problem& problem, MaskType type) {
  return problem.mask && problem.rules.mask_type == type;
}

bool any_dead(const AttentionProblem& problem) {
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

}  // namespace

void suppose_masks(SuppositionList& list) {
  const Problem& given = list.problem();
  if (any_dead(given)) {
    list.twisted("fully-masked-mean", Twist::kMeanWhereDead);
    const FullyMasked other =
        given.rules.fully_masked == FullyMasked::kZero ? FullyMasked::kNan : FullyMasked::kZero;
    list.seen(other == FullyMasked::kNan ? "fully-masked-nan" : "fully-masked-zero",
              [other](Problem& p) { p.rules.fully_masked = other; });
  }
  if (has_mask(given, MaskType::kBool)) {
    list.mask_becomes("mask-inverted", [](double value, double) { return value == 0 ? 1.0 : 0.0; });
    list.seen("mask-added-as-numbers", [](Problem& p) {
      p.rules.mask_type = MaskType::kAdditive;
      if (!p.mask) return;
      for (double& value : p.mask->values) value = value == 0 ? 0 : 1;
    });
  }
  if (has_mask(given, MaskType::kAdditive)) {
    list.mask_becomes("mask-before-scale",
                      [](double value, double scale) { return value * scale; });
    list.mask_becomes("mask-inverted",
                      [](double value, double) { return value == -kInfinity ? 0.0 : -kInfinity; });
  }
  if (given.mask) list.seen("mask-ignored", [](Problem& p) { p.mask.reset(); });
  if (!hides(given)) return;
  list.twisted("mask-after-softmax", Twist::kMaskAfterSoftmax);
  // Stand-ins for minus infinity that real code uses; the small ones move other rows as well.
  for (double number : {-1.0, -10.0, -100.0, -1e3, -1e4, -65504.0, -1e9, -3.4028234663852886e38}) {
    list.twisted("mask-sentinel-finite", Twist::kHiddenByNumber, number);
    list.twisted("mask-sentinel-finite", Twist::kHiddenByAddition, number);
  }
  list.twisted("mask-sentinel-finite", Twist::kHiddenByNumber, 0);
}

void suppose_causality(SuppositionList& list) {
  const Problem& given = list.problem();
  if (!given.rules.causal) return;
  const Index difference = given.whole_kv_len() - given.whole_q_len();
  list.seen("causal-alignment", [](Problem& p) {
    const bool top = p.rules.causal_alignment == CausalAlignment::kTopLeft;
    p.rules.causal_alignment = top ? CausalAlignment::kBottomRight : CausalAlignment::kTopLeft;
    p.rules.causal_offset.reset();
  });
  for (Index offset : {Index{0}, difference}) {
    list.seen("causal-alignment", [offset](Problem& p) { p.rules.causal_offset = offset; });
  }
  for (Index shift : {Index{1}, Index{-1}}) {
    list.allowed("causal-off-by-one",
                 [shift](const Problem& p, Index b, Index h, Index i, Index j) {
                   const Sight sight = sight_of(p, b, i);
                   if (!mask_allows(p, b, h, i, j)) return false;
                   if (shift < 0) return j >= sight.first && j < sight.end && j < sight.position;
                   return j >= sight.first && j <= sight.position + 1 && j < key_limit(p, b, i);
                 });
  }
  list.seen("causal-missing", [](Problem& p) { p.rules.causal = false; });
  if (difference > 0) {  // made with a cache of `difference` keys
    list.allowed("cache-ignored",
                 [difference](const Problem& p, Index b, Index h, Index i, Index j) {
                   return j >= difference && may_see(p, b, h, i, j);
                 });
    list.seen("cache-order", [difference](Problem& p) {
      for (Tensor<double>* tensor : {&p.k, &p.v}) roll_rows(*tensor, difference);
    });
  }
}

void suppose_windows(SuppositionList& list) {
  const Problem& given = list.problem();
  const bool left = given.rules.window_left >= 0;
  const bool right = given.rules.window_right >= 0;
  for (Index change : {Index{1}, Index{-1}}) {
    if (left && given.rules.window_left + change >= 0) {
      list.seen("window-off-by-one", [change](Problem& p) { shift(p.rules.window_left, change); });
    }
    if (right && given.rules.window_right + change >= 0) {
      list.seen("window-off-by-one", [change](Problem& p) { shift(p.rules.window_right, change); });
    }
    if (left && right && given.rules.window_left + change >= 0 &&
        given.rules.window_right + change >= 0) {
      list.seen("window-off-by-one", [change](Problem& p) {
        shift(p.rules.window_left, change);
        shift(p.rules.window_right, change);
      });
    }
  }
  if (left) list.seen("window-ignored", [](Problem& p) { p.rules.window_left = -1; });
  if (right) list.seen("window-ignored", [](Problem& p) { p.rules.window_right = -1; });
  if (left && right) {
    list.seen("window-ignored",
              [](Problem& p) { p.rules.window_left = p.rules.window_right = -1; });
  }
}

void suppose_lengths(SuppositionList& list) {
  const Problem& given = list.problem();
  if (!given.kv_lens.empty()) {
    list.seen("padding-ignored", [](Problem& p) { p.kv_lens.clear(); });
    list.add({"padding-ignored",
              [](const Problem& problem) {
                Problem open =
                    restricted(problem, [](const Problem& p, Index b, Index h, Index i, Index j) {
                      const Index position = sight_of(p, b, i).position;
                      return (!p.rules.causal || j <= position) && mask_allows(p, b, h, i, j);
                    });
                open.kv_lens.clear();
                return open;
              },
              Twist::kNone, 0});
  }
  if (!given.cu_seqlens_q.empty()) {
    list.seen("packing-ignored", [](Problem& p) {
      p.cu_seqlens_q.clear();
      p.cu_seqlens_k.clear();
    });
  }
}

}  // namespace attn
