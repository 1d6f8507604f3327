#include "check/suppositions.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>

#include "check/case_file.h"

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLn2 = 0.6931471805599453;

using Problem = AttentionProblem;

// Collects suppositions; each method adds those of one part of attention.
class Collector {
 public:
  explicit Collector(const Problem& problem) : problem_(problem), rules_(problem.rules) {}

  std::vector<Supposition> collect() {
    masks();
    causality();
    windows();
    lengths();
    heads();
    scales();
    softcaps();
    softmaxes();
    tiles();
    sinks();
    slopes();
    arithmetic();
    return std::move(found_);
  }

 private:
  // The problem after a change of its own.
  template <class Change>
  void seen(const char* name, const Change& change) {
    found_.push_back({name,
                      [change](const Problem& problem) {
                        Problem changed = problem;
                        change(changed);
                        return changed;
                      },
                      Twist::kNone, 0});
  }

  void twisted(const char* name, Twist twist, double parameter = 0) {
    found_.push_back({name, [](const Problem& problem) { return problem; }, twist, parameter});
  }

  // Just these keys may be seen: pred(problem, b, h, i, j), which need not ask about padding.
  template <class Pred>
  void allowed(const char* name, const Pred& pred) {
    found_.push_back({name, [pred](const Problem& problem) { return restricted(problem, pred); },
                      Twist::kNone, 0});
  }

  template <class Pred>
  static Problem restricted(const Problem& problem, const Pred& pred) {
    const bool additive = problem.mask && problem.rules.mask_type == MaskType::kAdditive;
    Problem changed = problem;
    changed.rules.causal = false;
    changed.rules.window_left = -1;
    changed.rules.window_right = -1;
    Tensor<double> mask({problem.batch(), problem.heads(), problem.q_len(), problem.kv_len()});
    std::size_t at = 0;
    for (Index b = 0; b < problem.batch(); ++b) {
      for (Index h = 0; h < problem.heads(); ++h) {
        for (Index i = 0; i < problem.q_len(); ++i) {
          for (Index j = 0; j < problem.kv_len(); ++j) {
            const bool may = pred(problem, b, h, i, j);
            if (additive) {
              mask.values[at++] = may ? problem.mask_at(b, h, i, j) : -kInfinity;
            } else {
              mask.values[at++] = may ? 1 : 0;
            }
          }
        }
      }
    }
    changed.mask = std::move(mask);
    return changed;
  }

  // Each number of the mask is another: becomes(value, scale).
  template <class Becomes>
  void mask_becomes(const char* name, const Becomes& becomes) {
    seen(name, [becomes](Problem& p) {
      if (!p.mask) return;  // another mistake left none
      const double scale = p.scale();
      for (double& value : p.mask->values) value = becomes(value, scale);
    });
  }

  bool causal() const { return rules_.causal; }
  bool bool_mask() const { return problem_.mask && rules_.mask_type == MaskType::kBool; }
  bool additive_mask() const { return problem_.mask && rules_.mask_type == MaskType::kAdditive; }
  bool hides() const {
    return causal() || problem_.mask || rules_.window_left >= 0 || rules_.window_right >= 0;
  }
  bool any_dead() const {
    for (Index b = 0; b < problem_.batch(); ++b) {
      for (Index h = 0; h < problem_.heads(); ++h) {
        for (Index i = 0; i < problem_.q_len(); ++i) {
          bool dead = problem_.kv_len() > 0;
          const Sight sight = sight_of(problem_, b, i);
          for (Index j = sight.first; dead && j < sight.end; ++j) {
            dead = !mask_allows(problem_, b, h, i, j);
          }
          if (dead) return true;
        }
      }
    }
    return false;
  }

  void masks() {
    if (any_dead()) {
      twisted("fully-masked-mean", Twist::kMeanWhereDead);
      const FullyMasked other =
          rules_.fully_masked == FullyMasked::kZero ? FullyMasked::kNan : FullyMasked::kZero;
      seen(other == FullyMasked::kNan ? "fully-masked-nan" : "fully-masked-zero",
           [other](Problem& p) { p.rules.fully_masked = other; });
    }
    if (bool_mask()) {
      mask_becomes("mask-inverted", [](double value, double) { return value == 0 ? 1.0 : 0.0; });
      seen("mask-added-as-numbers", [](Problem& p) {
        p.rules.mask_type = MaskType::kAdditive;
        if (!p.mask) return;
        for (double& value : p.mask->values) value = value == 0 ? 0 : 1;
      });
    }
    if (additive_mask()) {
      mask_becomes("mask-before-scale", [](double value, double scale) { return value * scale; });
      mask_becomes("mask-inverted",
                   [](double value, double) { return value == -kInfinity ? 0.0 : -kInfinity; });
    }
    if (problem_.mask) seen("mask-ignored", [](Problem& p) { p.mask.reset(); });
    if (!hides()) return;
    twisted("mask-after-softmax", Twist::kMaskAfterSoftmax);
    // Stand-ins for minus infinity that real code uses; the small ones move other rows as well.
    for (double number :
         {-1.0, -10.0, -100.0, -1e3, -1e4, -65504.0, -1e9, -3.4028234663852886e38}) {
      twisted("mask-sentinel-finite", Twist::kHiddenByNumber, number);
      twisted("mask-sentinel-finite", Twist::kHiddenByAddition, number);
    }
    twisted("mask-sentinel-finite", Twist::kHiddenByNumber, 0);
  }

  void causality() {
    if (!causal()) return;
    const Index difference = problem_.kv_len() - problem_.q_len();
    seen("causal-alignment", [](Problem& p) {
      const bool top = p.rules.causal_alignment == CausalAlignment::kTopLeft;
      p.rules.causal_alignment = top ? CausalAlignment::kBottomRight : CausalAlignment::kTopLeft;
      p.rules.causal_offset.reset();
    });
    for (Index offset : {Index{0}, difference}) {
      seen("causal-alignment", [offset](Problem& p) { p.rules.causal_offset = offset; });
    }
    for (Index shift : {Index{1}, Index{-1}}) {
      allowed("causal-off-by-one", [shift](const Problem& p, Index b, Index h, Index i, Index j) {
        const Sight sight = sight_of(p, b, i);
        if (!mask_allows(p, b, h, i, j)) return false;
        if (shift < 0) return j >= sight.first && j < sight.end && j < sight.position;
        return j >= sight.first && j <= sight.position + 1 && j < key_limit(p, b, i);
      });
    }
    seen("causal-missing", [](Problem& p) { p.rules.causal = false; });
    if (difference > 0) {  // made with a cache of `difference` keys
      allowed("cache-ignored", [difference](const Problem& p, Index b, Index h, Index i, Index j) {
        return j >= difference && may_see(p, b, h, i, j);
      });
      seen("cache-order", [difference](Problem& p) {
        for (Tensor<double>* tensor : {&p.k, &p.v}) roll_rows(*tensor, difference);
      });
    }
  }

  // One after the last key of the query's own sequence that is no padding.
  static Index key_limit(const Problem& problem, Index b, Index i) {
    Index limit =
        problem.kv_lens.empty() ? problem.kv_len() : problem.kv_lens[static_cast<std::size_t>(b)];
    if (problem.cu_seqlens_q.empty()) return limit;
    const std::vector<Index>& starts = problem.cu_seqlens_q;
    const auto next = std::upper_bound(starts.begin(), starts.end(), i) - starts.begin();
    return std::min(limit, problem.cu_seqlens_k[static_cast<std::size_t>(next)]);
  }

  // The first `count` rows of each head go behind the others.
  static void roll_rows(Tensor<double>& tensor, Index count) {
    const Index size = tensor.dim(2) * tensor.dim(3);
    for (Index head = 0; size > 0 && head < tensor.dim(0) * tensor.dim(1); ++head) {
      const auto begin = tensor.values.begin() + head * size;
      std::rotate(begin, begin + count * tensor.dim(3), begin + size);
    }
  }

  // -1 is no window, and none has nothing to be moved.
  static void shift(Index& window, Index change) {
    if (window >= 0) window += change;
  }

  void windows() {
    const bool left = rules_.window_left >= 0;
    const bool right = rules_.window_right >= 0;
    for (Index change : {Index{1}, Index{-1}}) {
      if (left && rules_.window_left + change >= 0) {
        seen("window-off-by-one", [change](Problem& p) { shift(p.rules.window_left, change); });
      }
      if (right && rules_.window_right + change >= 0) {
        seen("window-off-by-one", [change](Problem& p) { shift(p.rules.window_right, change); });
      }
      if (left && right && rules_.window_left + change >= 0 && rules_.window_right + change >= 0) {
        seen("window-off-by-one", [change](Problem& p) {
          shift(p.rules.window_left, change);
          shift(p.rules.window_right, change);
        });
      }
    }
    if (left) seen("window-ignored", [](Problem& p) { p.rules.window_left = -1; });
    if (right) seen("window-ignored", [](Problem& p) { p.rules.window_right = -1; });
    if (left && right) {
      seen("window-ignored", [](Problem& p) { p.rules.window_left = p.rules.window_right = -1; });
    }
  }

  void lengths() {
    if (!problem_.kv_lens.empty()) {
      seen("padding-ignored", [](Problem& p) { p.kv_lens.clear(); });
      found_.push_back({"padding-ignored",
                        [](const Problem& problem) {
                          Problem open = restricted(problem, [](const Problem& p, Index b, Index h,
                                                                Index i, Index j) {
                            const Index position = sight_of(p, b, i).position;
                            return (!p.rules.causal || j <= position) && mask_allows(p, b, h, i, j);
                          });
                          open.kv_lens.clear();
                          return open;
                        },
                        Twist::kNone, 0});
    }
    if (!problem_.cu_seqlens_q.empty()) {
      seen("packing-ignored", [](Problem& p) {
        p.cu_seqlens_q.clear();
        p.cu_seqlens_k.clear();
      });
    }
    if (problem_.batch() < 2) return;
    seen("batch-reuse", [](Problem& p) {
      copy_first(p.k);
      copy_first(p.v);
    });
    seen("batch-reuse", [](Problem& p) { copy_first(p.k); });
    seen("batch-reuse", [](Problem& p) { copy_first(p.v); });
    seen("batch-reuse", [](Problem& p) { copy_first(p.q); });
    seen("batch-reuse", [](Problem& p) {
      copy_first(p.q);
      copy_first(p.k);
      copy_first(p.v);
    });
    if (problem_.mask && problem_.mask->dim(0) > 1) {
      seen("batch-reuse", [](Problem& p) {
        if (p.mask) copy_first(*p.mask);
      });
    }
    if (!problem_.kv_lens.empty()) {
      seen("batch-reuse", [](Problem& p) {
        if (p.kv_lens.empty()) return;
        const Index first = p.kv_lens.front();
        std::fill(p.kv_lens.begin(), p.kv_lens.end(), first);
      });
    }
  }

  static void copy_first(Tensor<double>& tensor) {
    const Index each = tensor.size() / tensor.dim(0);
    for (Index b = 1; b < tensor.dim(0); ++b) {
      std::copy_n(tensor.data(), each, tensor.data() + b * each);
    }
  }

  void heads() {
    const Index kv_heads = problem_.kv_heads();
    const Index all = problem_.heads();
    if (kv_heads > 1 && kv_heads < all) {
      seen("gqa-tiled", [all](Problem& p) {
        p.k = heads_of(p.k, all, [&](Index h) { return h % p.k.dim(1); });
        p.v = heads_of(p.v, all, [&](Index h) { return h % p.v.dim(1); });
      });
    }
    if (kv_heads < all) {
      seen("gqa-first-head", [all](Problem& p) {
        p.k = heads_of(p.k, all, [](Index) { return 0; });
        p.v = heads_of(p.v, all, [](Index) { return 0; });
      });
    }
    if (all > 1 && problem_.q_len() > 1) twisted("head-layout", Twist::kOutStoredByRows);
    const bool plain = kv_heads == all && problem_.q_len() == problem_.kv_len() && !problem_.mask &&
                       problem_.kv_lens.empty() && problem_.cu_seqlens_q.empty() &&
                       problem_.alibi_slopes.empty() && problem_.sinks.empty();
    if (plain && all > 1) twisted("head-layout", Twist::kHeadsAsRows);
    if (all > 1) {
      seen("head-layout", [](Problem& p) { reread(p.q); });
      seen("head-layout", [](Problem& p) {
        reread(p.q);
        reread(p.k);
        reread(p.v);
      });
    }
    if (kv_heads > 1) {
      seen("head-layout", [](Problem& p) { reread(p.k); });
      seen("head-layout", [](Problem& p) { reread(p.v); });
      seen("head-layout", [](Problem& p) {
        reread(p.k);
        reread(p.v);
      });
    }
  }

  template <class Source>
  static Tensor<double> heads_of(const Tensor<double>& from, Index count, const Source& source) {
    Tensor<double> to({from.dim(0), count, from.dim(2), from.dim(3)});
    const Index each = from.dim(2) * from.dim(3);
    for (Index b = 0; b < from.dim(0); ++b) {
      for (Index h = 0; h < count; ++h) {
        std::copy_n(from.data() + (b * from.dim(1) + source(h)) * each, each,
                    to.data() + (b * count + h) * each);
      }
    }
    return to;
  }

  // The same memory taken for (batch, rows, heads, features).
  static void reread(Tensor<double>& tensor) {
    std::swap(tensor.shape[1], tensor.shape[2]);
    tensor = swap_layout(tensor);
  }

  void scale_is(const char* name, double scale) {
    if (scale == problem_.scale()) return;
    seen(name, [scale](Problem& p) { p.rules.scale = scale; });
  }

  void scales() {
    const auto dim = static_cast<double>(problem_.head_dim());
    const auto width = dim * static_cast<double>(problem_.heads());
    const double scale = problem_.scale();
    scale_is("missing-scale", 1);
    if (problem_.heads() > 1) scale_is("scale-from-width", 1 / std::sqrt(width));
    for (double wrong :
         {1 / std::sqrt(dim), 1 / dim, 1 / std::sqrt(static_cast<double>(problem_.value_dim())),
          std::sqrt(scale), scale * scale, scale * kLn2, scale / kLn2, std::sqrt(dim), dim,
          1 / std::sqrt(static_cast<double>(problem_.kv_len())), 1 / width}) {
      if (std::isfinite(wrong)) scale_is("wrong-scale", wrong);
    }
    for (Index kept = problem_.head_dim() - 1; kept >= 1; --kept) {
      const bool likely =
          kept == problem_.head_dim() - 1 || kept * 2 == problem_.head_dim() || kept % 8 == 0;
      if (!likely) continue;
      for (bool own_scale : {false, true}) {
        seen("head-dim-truncated", [kept, own_scale](Problem& p) {
          if (own_scale)
            p.rules.scale = 1 / std::sqrt(static_cast<double>(kept));
          else
            p.rules.scale = p.scale();
          for (Index row = 0; row < p.q.size() / p.head_dim(); ++row) {
            double* query = p.q.data() + row * p.head_dim();
            std::fill(query + kept, query + p.head_dim(), 0);
          }
        });
      }
    }
  }

  void softcaps() {
    if (rules_.softcap == 0) return;
    if (hides()) twisted("softcap-after-mask", Twist::kSoftcapAfterMask);
    seen("softcap-missing", [](Problem& p) { p.rules.softcap = 0; });
    seen("softcap-before-scale", [](Problem& p) {
      // cap * tanh(q.k / cap) * scale is a cap of cap * scale on the scaled scores
      p.rules.softcap *= std::abs(p.scale());
    });
  }

  void softmaxes() {
    twisted("softmax-axis", Twist::kSoftmaxOverQueries);
    if (problem_.heads() > 1) twisted("softmax-axis", Twist::kSoftmaxOverHeads);
    twisted("softmax-over-everything", Twist::kSoftmaxOverMatrix);
    if (problem_.heads() * problem_.batch() > 1) {
      twisted("softmax-over-everything", Twist::kSoftmaxOverAll);
    }
    twisted("rows-not-normalised", Twist::kNoDivision);
  }

  void tiles() {
    for (Index tile : {4, 8, 16, 32, 64, 128}) {
      const Index keys = problem_.kv_len();
      const Index more = (tile - keys % tile) % tile;
      if (more > 0 && keys > 0) {
        // Zero keys score 0 and add nothing but their number to the denominator, as a sink does.
        seen("tail-tile", [more](Problem& p) { add_to_denominator(p, static_cast<double>(more)); });
      }
      const Index whole = keys / tile * tile;
      if (whole < keys && whole > 0) {
        allowed("tail-tile", [whole](const Problem& p, Index b, Index h, Index i, Index j) {
          return j < whole && may_see(p, b, h, i, j);
        });
      }
      if (keys > tile) {
        twisted("online-rescale", Twist::kForgottenRescale, static_cast<double>(tile));
        twisted("online-rescale", Twist::kForgottenOutRescale, static_cast<double>(tile));
      }
    }
  }

  static void add_to_denominator(Problem& problem, double amount) {
    if (problem.sinks.empty()) {
      problem.sinks.assign(static_cast<std::size_t>(problem.heads()), -kInfinity);
    }
    for (double& sink : problem.sinks) sink = std::log(std::exp(sink) + amount);
  }

  void sinks() {
    if (problem_.sinks.empty()) return;
    seen("sink-ignored", [](Problem& p) { p.sinks.clear(); });
    seen("sink-scaled", [](Problem& p) {
      for (double& sink : p.sinks) sink *= p.scale();
    });
    seen("sink-twice", [](Problem& p) {
      for (double& sink : p.sinks) sink += kLn2;
    });
    if (rules_.softcap > 0) {
      seen("sink-scaled", [](Problem& p) {
        if (p.rules.softcap == 0) return;
        for (double& sink : p.sinks) sink = p.rules.softcap * std::tanh(sink / p.rules.softcap);
      });
    }
  }

  void slopes() {
    const auto count = static_cast<double>(problem_.heads());
    if (problem_.alibi_slopes.empty()) return;
    seen("alibi-missing", [](Problem& p) { p.alibi_slopes.clear(); });
    seen("alibi-sign", [](Problem& p) {
      for (double& slope : p.alibi_slopes) slope = -slope;
    });
    seen("alibi-slopes",
         [](Problem& p) { std::reverse(p.alibi_slopes.begin(), p.alibi_slopes.end()); });
    const auto series = [&](double first, double step) {
      seen("alibi-slopes", [first, step](Problem& p) {
        for (std::size_t h = 0; h < p.alibi_slopes.size(); ++h) {
          p.alibi_slopes[h] = std::exp2(-(first + step * static_cast<double>(h)));
        }
      });
    };
    series(8 / count, 8 / count);
    series(0, 8 / count);
    series(1, 1);
    series(0, 1);
    if (problem_.kv_heads() < problem_.heads()) {
      seen("alibi-slopes", [](Problem& p) {
        const std::vector<double> own = p.alibi_slopes;
        for (std::size_t h = 0; h < own.size(); ++h) {
          p.alibi_slopes[h] = own[static_cast<std::size_t>(p.kv_head_of(static_cast<Index>(h)))];
        }
      });
    }
  }

  void arithmetic() {
    twisted("fp16-overflow", Twist::kRawScoresInF16);
    twisted("no-max-subtraction", Twist::kNoMaxSubtraction);
  }

  const Problem& problem_;
  const AttentionRules& rules_;
  std::vector<Supposition> found_;
};

}  // namespace

std::vector<Supposition> suppositions(const AttentionProblem& problem) {
  return Collector(problem).collect();
}

}  // namespace attn
