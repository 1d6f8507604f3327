// Mistakes in what is added to the scores: sinks and ALiBi's slopes.

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
constexpr double kLn2 = 0.6931471805599453;

}  // namespace

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

}  // namespace attn
