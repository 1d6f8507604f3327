// Mistakes in the numbers: scores, softmax, what is added to them, and the arithmetic itself.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>
#include <vector>

#include "check/supposition_list.h"

namespace attn {
namespace {

using Problem = AttentionProblem;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLn2 = 0.6931471805599453;

void scale_is(SuppositionList& list, const char* name, double scale, const char* formula) {
  const double wanted = list.problem().scale();
  if (scale == wanted || !std::isfinite(scale)) return;
  list.seen(name, [scale](Problem& p) { p.rules.scale = scale; })
      .says(fmt::format("{:.6g} ({}) where {:.6g} was wanted", scale, formula, wanted));
}

void suppose_truncated_heads(SuppositionList& list) {
  const Problem& given = list.problem();
  const Index dim = given.head_dim();
  for (Index kept = dim - 1; kept >= 1; --kept) {
    const bool likely = kept == dim - 1 || kept * 2 == dim || kept % 8 == 0;
    if (!likely && dim > 64) continue;
    for (bool own_scale : {false, true}) {
      Supposition& one = list.seen("head-dim-truncated", [kept, own_scale](Problem& p) {
        if (own_scale)
          p.rules.scale = 1 / std::sqrt(static_cast<double>(kept));
        else
          p.rules.scale = p.scale();
        for (Index row = 0; row < p.q.size() / p.head_dim(); ++row) {
          double* query = p.q.data() + row * p.head_dim();
          std::fill(query + kept, query + p.head_dim(), 0);
        }
      });
      one.says(fmt::format("the first {} of {} features make the scores{}", kept, dim,
                           own_scale ? fmt::format(", scaled by 1/sqrt({})", kept) : ""));
      one.with_others = kept * 2 == dim;
    }
  }
  for (Index kept = given.value_dim() - 1; kept >= 1; --kept) {
    const bool likely = kept * 2 == given.value_dim() || kept % 8 == 0;
    if (!likely && kept + 1 < given.value_dim()) continue;
    list.twisted("head-dim-truncated", Twist::kFeaturesUnwritten, static_cast<double>(kept))
        .says(fmt::format("out is 0 from feature {} on", kept))
        .alone();
  }
}

}  // namespace

void suppose_scales(SuppositionList& list) {
  const Problem& given = list.problem();
  const auto dim = static_cast<double>(given.head_dim());
  const auto width = dim * static_cast<double>(given.heads());
  const auto value_dim = static_cast<double>(given.value_dim());
  const double scale = given.scale();
  scale_is(list, "missing-scale", 1, "none");
  if (given.heads() > 1) {
    scale_is(list, "scale-from-width", 1 / std::sqrt(width),
             fmt::format("1/sqrt({:.0f}), from heads * head_dim", width).c_str());
  }
  if (given.kv_heads() > 1 && given.kv_heads() < given.heads()) {
    const double kv_width = dim * static_cast<double>(given.kv_heads());
    scale_is(list, "scale-from-width", 1 / std::sqrt(kv_width),
             fmt::format("1/sqrt({:.0f}), from kv_heads * head_dim", kv_width).c_str());
  }
  const std::pair<double, const char*> wrong[] = {
      {1 / std::sqrt(dim), "1/sqrt(head_dim)"},
      {1 / dim, "1/head_dim"},
      {1 / std::sqrt(value_dim), "1/sqrt(value_dim)"},
      {std::sqrt(scale), "the root of the scale"},
      {scale * scale, "the scale twice"},
      {scale * kLn2, "the scale times ln 2"},
      {scale / kLn2, "the scale over ln 2"},
      {std::sqrt(dim), "sqrt(head_dim)"},
      {dim, "head_dim"},
      {1 / scale, "1/scale"},
      {-scale, "of the other sign"},
      {0, "q.k does not count"},
      {1 / std::sqrt(static_cast<double>(given.whole_kv_len())), "1/sqrt(kv_len)"},
      {1 / std::sqrt(static_cast<double>(given.whole_q_len())), "1/sqrt(q_len)"},
      {1 / std::sqrt(static_cast<double>(given.heads())), "1/sqrt(heads)"},
      {1 / width, "1/(heads * head_dim)"},
      {2 * scale, "twice the scale"},
      {scale / 2, "half the scale"}};
  for (const auto& [number, formula] : wrong) {
    if (number != 1) scale_is(list, "wrong-scale", number, formula);  // 1 is missing-scale
  }
  suppose_truncated_heads(list);
}

void suppose_softcaps(SuppositionList& list) {
  const Problem& given = list.problem();
  if (given.rules.softcap == 0) return;
  const bool added =
      !given.alibi_slopes.empty() || (given.mask && given.rules.mask_type == MaskType::kAdditive);
  const bool padded = !given.kv_lens.empty() || !given.cu_seqlens_q.empty();
  if (hides(given) || padded) {
    list.twisted("softcap-after-mask", Twist::kSoftcapAfterMask)
        .says(fmt::format("minus infinity became {:.4g}: hidden keys have a share",
                          -given.rules.softcap));
  }
  if (hides(given) && padded) {
    list.twisted("softcap-after-mask", Twist::kSoftcapAfterMask, 1)
        .says(fmt::format("minus infinity became {:.4g}, but not that of padding",
                          -given.rules.softcap));
  }
  if (added) {
    list.twisted("softcap-after-mask", Twist::kSoftcapAfterBias)
        .says("the cap bends what is added to the scores too");
  }
  list.seen("softcap-missing", [](Problem& p) { p.rules.softcap = 0; });
  list.seen("softcap-before-scale",
            [](Problem& p) {
              // cap * tanh(q.k / cap) * scale is a cap of cap * scale on the scaled scores
              p.rules.softcap *= std::abs(p.scale());
            })
      .says("q.k is capped before it is scaled");
}

void suppose_softmaxes(SuppositionList& list) {
  const Problem& given = list.problem();
  list.twisted("softmax-axis", Twist::kSoftmaxOverQueries)
      .says("over the queries: columns sum to 1");
  if (given.heads() > 1) {
    list.twisted("softmax-axis", Twist::kSoftmaxOverHeads).says("over the heads");
  }
  if (given.batch() > 1) {
    list.twisted("softmax-axis", Twist::kSoftmaxOverBatch).says("over the sequences").alone();
  }
  list.twisted("softmax-over-everything", Twist::kSoftmaxOverMatrix)
      .says("one over all rows and keys of a head");
  if (given.heads() > 1) {
    list.twisted("softmax-over-everything", Twist::kSoftmaxOverSequence)
        .says("one over all heads, rows and keys of a sequence");
  }
  if (given.batch() > 1) {
    list.twisted("softmax-over-everything", Twist::kSoftmaxOverAll)
        .says("one over the whole tensor");
  }
  list.seen("constant-output", [](Problem& p) { p.rules.scale = 0; })
      .says("weights are even, whatever the scores")
      .alone();
  if (hides(given)) {
    list.seen("constant-output",
              [](Problem& p) {
                p.rules.causal = false;
                p.rules.window_left = p.rules.window_right = -1;
                p.rules.scale = 0;
                p.mask.reset();
                p.alibi_slopes.clear();
                p.sinks.clear();
              })
        .says("each row is the mean of all values")
        .alone();
  }
  list.twisted("rows-not-normalised", Twist::kNoDivision)
      .says("exp(score - largest) is not divided by its sum");
  list.twisted("rows-not-normalised", Twist::kNoDivision, 1)
      .says("exp(score) is not divided by its sum")
      .alone();
}

void suppose_sinks(SuppositionList& list) {
  const Problem& given = list.problem();
  if (given.sinks.empty()) return;
  list.seen("sink-ignored", [](Problem& p) { p.sinks.clear(); });
  list.seen("sink-scaled",
            [](Problem& p) {
              for (double& sink : p.sinks) sink *= p.scale();
            })
      .says(fmt::format("the sink was multiplied by the scale {:.4g}", given.scale()));
  list.seen("sink-scaled",
            [](Problem& p) {
              for (double& sink : p.sinks) sink /= p.scale();
            })
      .says(fmt::format("the sink was divided by the scale {:.4g}", given.scale()))
      .alone();
  if (given.rules.softcap > 0) {
    list.seen("sink-scaled",
              [](Problem& p) {
                if (p.rules.softcap == 0) return;
                for (double& sink : p.sinks)
                  sink = p.rules.softcap * std::tanh(sink / p.rules.softcap);
              })
        .says("the sink was capped");
  }
  list.seen("sink-twice",
            [](Problem& p) {
              for (double& sink : p.sinks) sink += kLn2;
            })
      .says("the sink counts twice");
  list.twisted("sink-unshifted", Twist::kSinkUnshifted)
      .says("exp(sink) joins a sum that the largest score was taken from");
  list.seen("sink-heads", [](Problem& p) { std::reverse(p.sinks.begin(), p.sinks.end()); })
      .says("the sinks are in reverse")
      .alone();
  list.seen("sink-heads",
            [](Problem& p) {
              if (!p.sinks.empty()) std::fill(p.sinks.begin(), p.sinks.end(), p.sinks.front());
            })
      .says("every head has the sink of head 0")
      .alone();
}

namespace {

// ALiBi as numbers added to the scores: distance(position, key) says what the slope multiplies.
template <class Distance>
void bias_is(SuppositionList& list, const char* name, const char* says, const Distance& distance) {
  list.seen(name,
            [distance](Problem& p) {
              if (p.alibi_slopes.empty()) return;
              const bool additive = p.mask && p.rules.mask_type == MaskType::kAdditive;
              Tensor<double> bias({p.batch(), p.heads(), p.q_len(), p.kv_len()});
              std::size_t at = 0;
              for (Index b = 0; b < p.batch(); ++b) {
                for (Index h = 0; h < p.heads(); ++h) {
                  for (Index i = 0; i < p.q_len(); ++i) {
                    const Index position = sight_of(p, b, i).position;
                    for (Index j = 0; j < p.kv_len(); ++j) {
                      double& value = bias.values[at++];
                      if (!mask_allows(p, b, h, i, j)) {
                        value = -kInfinity;
                        continue;
                      }
                      if (additive) value = p.mask_at(b, h, i, j);
                      value -= p.alibi_slopes[static_cast<std::size_t>(h)] *
                               static_cast<double>(distance(whole_row(p, i), position, j));
                    }
                  }
                }
              }
              p.mask = std::move(bias);
              p.rules.mask_type = MaskType::kAdditive;
              p.alibi_slopes.clear();
            })
      .says(says);
}

}  // namespace

void suppose_slopes(SuppositionList& list) {
  const Problem& given = list.problem();
  const auto count = static_cast<double>(given.heads());
  if (given.alibi_slopes.empty()) return;
  list.seen("alibi-missing", [](Problem& p) { p.alibi_slopes.clear(); });
  list.seen("alibi-sign",
            [](Problem& p) {
              for (double& slope : p.alibi_slopes) slope = -slope;
            })
      .says("far keys are favoured: +slope * distance");
  bias_is(list, "alibi-sign", "slope * (key - position): later keys are favoured",
          [](Index, Index position, Index j) { return position - j; });
  bias_is(list, "alibi-sign", "slope * (position - key): earlier keys are favoured",
          [](Index, Index position, Index j) { return j - position; });
  bias_is(list, "alibi-offset", "the distance is from the row's number and not its position",
          [](Index i, Index, Index j) { return std::abs(i - j); });
  list.seen("alibi-slopes",
            [](Problem& p) { std::reverse(p.alibi_slopes.begin(), p.alibi_slopes.end()); })
      .says("the slopes are in reverse");
  const auto series = [&](const char* says, double first, double step) {
    list.seen("alibi-slopes",
              [first, step](Problem& p) {
                for (std::size_t h = 0; h < p.alibi_slopes.size(); ++h) {
                  p.alibi_slopes[h] = std::exp2(-(first + step * static_cast<double>(h)));
                }
              })
        .says(says);
  };
  series("2^(-8 (h+1) / heads) with h from 0", 8 / count, 8 / count);
  series("2^(-8 h / heads) with h from 0", 0, 8 / count);
  series("2^-(h+1)", 1, 1);
  series("2^-h", 0, 1);
  list.seen("alibi-slopes",
            [](Problem& p) {
              // Of a count that is no power of two: the slopes of the power below, then every
              // other one of the power above (Press et al. 2021).
              const auto heads = static_cast<Index>(p.alibi_slopes.size());
              Index power = 1;
              while (power * 2 <= heads) power *= 2;
              for (Index h = 0; h < heads; ++h) {
                const double exponent =
                    h < power ? 8.0 * static_cast<double>(h + 1) / static_cast<double>(power)
                              : 4.0 * static_cast<double>(2 * (h - power) + 1) /
                                    static_cast<double>(power);
                p.alibi_slopes[static_cast<std::size_t>(h)] = std::exp2(-exponent);
              }
            })
      .says("the slopes of the paper for so many heads");
  list.seen("alibi-slopes",
            [](Problem& p) {
              for (double& slope : p.alibi_slopes) slope *= p.scale();
            })
      .says("the slopes were multiplied by the scale too");
  list.seen("alibi-slopes",
            [](Problem& p) {
              if (!p.alibi_slopes.empty())
                std::fill(p.alibi_slopes.begin(), p.alibi_slopes.end(), p.alibi_slopes.front());
            })
      .says("every head has the slope of head 0")
      .alone();
  for (Index by : {Index{1}, Index{-1}}) {
    list.seen("alibi-slopes",
              [by](Problem& p) {
                const std::vector<double> own = p.alibi_slopes;
                const auto heads = static_cast<Index>(own.size());
                for (Index h = 0; h < heads; ++h) {
                  p.alibi_slopes[static_cast<std::size_t>(h)] =
                      own[static_cast<std::size_t>((h + by + heads) % heads)];
                }
              })
        .says(by > 0 ? "each head has the next head's slope"
                     : "each head has the previous head's slope")
        .alone();
  }
  if (given.kv_heads() < given.heads()) {
    list.seen("alibi-slopes",
              [](Problem& p) {
                const std::vector<double> own = p.alibi_slopes;
                for (std::size_t h = 0; h < own.size(); ++h) {
                  p.alibi_slopes[h] =
                      own[static_cast<std::size_t>(p.kv_head_of(static_cast<Index>(h)))];
                }
              })
        .says("query heads have the slopes of their key-value heads");
  }
}

void suppose_arithmetic(SuppositionList& list) {
  list.twisted("fp16-overflow", Twist::kRawScoresInF16)
      .says("q.k is rounded to f16 before it is scaled")
      .tells_rows();
  for (int bits : {32, 16, 64}) {
    Supposition& one = list.twisted("no-max-subtraction", Twist::kNoMaxSubtraction, bits);
    one.says(fmt::format("exp(score) in f{} leaves what it can hold", bits)).tells_rows();
    one.with_others = bits == 32;
  }
}

}  // namespace attn
