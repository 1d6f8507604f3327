// Steps that are taken differently within a row.

#include <algorithm>
#include <cmath>
#include <limits>

#include "check/mistakes/supposition_list.h"
#include "check/mistakes/twisted_attention.h"
#include "core/dtype.h"

namespace attn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double bent(double score, double cap) {
  return cap > 0 ? cap * std::tanh(score / cap) : score;
}

double sink_of(const AttentionProblem& problem, Index h) {
  return problem.sinks.empty() ? -kInfinity : problem.sinks[static_cast<std::size_t>(h)];
}

// Out from weights, over those keys alone that have one: hidden values may be NaN.
void mix(const AttentionProblem& problem, Index b, Index h, AttentionRow& row) {
  std::fill(row.out.begin(), row.out.end(), 0);
  for (std::size_t j = 0; j < row.weights.size(); ++j) {
    const double weight = row.weights[j];
    if (weight == 0) continue;
    const double* value = problem.v_row(b, problem.kv_head_of(h), static_cast<Index>(j));
    for (std::size_t c = 0; c < row.out.size(); ++c) row.out[c] += weight * value[c];
  }
}

// Weights, log-sum-exp and out from the row's scores.
void normalise(const AttentionProblem& problem, Index b, Index h, AttentionRow& row) {
  double top = -kInfinity;
  for (double score : row.scores) {
    if (score > top || std::isnan(score)) top = score;
  }
  std::fill(row.weights.begin(), row.weights.end(), 0);
  if (top == -kInfinity) {
    row.lse = -kInfinity;
    std::fill(row.out.begin(), row.out.end(), 0);
    return;
  }
  const double sink = sink_of(problem, h);
  if (sink > top) top = sink;
  double sum = std::exp(sink - top);
  for (std::size_t j = 0; j < row.scores.size(); ++j) {
    if (row.scores[j] == -kInfinity) continue;
    row.weights[j] = std::exp(row.scores[j] - top);
    sum += row.weights[j];
  }
  for (double& weight : row.weights) {
    if (weight != 0) weight /= sum;
  }
  row.lse = top + std::log(sum);
  mix(problem, b, h, row);
}

double largest(const AttentionRow& row) {
  return row.scores.empty() ? -kInfinity : *std::max_element(row.scores.begin(), row.scores.end());
}

// Scores are what they are; each weight is exp(score - less) / sum.
template <class Exp>
void weigh(AttentionRow& row, double sum, const Exp& exp) {
  for (std::size_t j = 0; j < row.scores.size(); ++j) {
    row.weights[j] = row.scores[j] == -kInfinity ? 0 : exp(row.scores[j]) / sum;
  }
}

double raw_score(const AttentionProblem& problem, Index b, Index h, Index i, Index j) {
  const double* query = problem.q_row(b, h, i);
  const double* key = problem.k_row(b, problem.kv_head_of(h), j);
  double sum = 0;
  for (Index c = 0; c < problem.head_dim(); ++c) sum += query[c] * key[c];
  return sum;
}

// A number in a float of so many bits: infinity beyond its largest, coarse next to 0, and between
// them as it is.
double narrow(double value, double bits) {
  constexpr float kMost = std::numeric_limits<float>::max();
  constexpr float kLeast = std::numeric_limits<float>::min();
  constexpr double kMostF16 = 65520;
  constexpr double kLeastF16 = 6.103515625e-05;
  if (bits == 16 && value >= kMostF16) return kInfinity;
  if (bits == 32 && value > kMost) return kInfinity;
  if (bits == 16 && value < kLeastF16) return f16_to_float(float_to_f16(static_cast<float>(value)));
  return bits == 32 && value < kLeast ? static_cast<float>(value) : value;
}

double narrow_exp(double score, double bits) {
  return narrow(std::exp(score), bits);
}

void lift_masks(AttentionProblem& problem) {
  problem.rules.causal = false;
  problem.rules.window_left = -1;
  problem.rules.window_right = -1;
  problem.mask.reset();
}

}  // namespace

TwistedAttention::TwistedAttention(const AttentionProblem& problem, Twist twist, double parameter)
    : problem_(problem), twist_(twist), parameter_(parameter) {
  const auto change = [&](const auto& what) {
    changed_ = problem;
    what(changed_);
  };
  switch (twist) {
    case Twist::kSoftcapAfterMask:
    case Twist::kSoftcapAfterBias:
      change([](AttentionProblem& p) { p.rules.softcap = 0; });
      break;
    case Twist::kMaskAfterSoftmax:
      change([parameter](AttentionProblem& p) {
        if (parameter == 0) return lift_masks(p);
        if (parameter == 1) p.mask.reset();
        if (parameter == 2) p.rules.causal = false;
        if (parameter == 3) p.rules.window_left = p.rules.window_right = -1;
      });
      break;
    case Twist::kHiddenByNumber:
    case Twist::kHiddenByAddition:
    case Twist::kMeanWhereDead:
      change(lift_masks);
      break;
    case Twist::kPaddingByNumber:
      change([](AttentionProblem& p) { p.kv_lens.clear(); });
      break;
    case Twist::kMaskedByNumber:
    case Twist::kMaskedByAddition:
      change([](AttentionProblem& p) { p.mask.reset(); });
      break;
    case Twist::kLaterByNumber:
    case Twist::kLaterByAddition:
    case Twist::kCausalAdded:
      change([](AttentionProblem& p) { p.rules.causal = false; });
      break;
    default:
      break;
  }
}

bool TwistedAttention::by_rows() const {
  return twist_ < Twist::kSoftmaxOverQueries;
}

void TwistedAttention::row(Index b, Index h, Index i, AttentionRow& row) const {
  const double cap = problem_.rules.softcap;
  if (twist_ == Twist::kSoftcapAfterMask || twist_ == Twist::kSoftcapAfterBias) {
    attention_row(changed_, b, h, i, row);
    for (std::size_t j = 0; j < row.scores.size(); ++j) {
      double& score = row.scores[j];
      const bool reached =
          twist_ == Twist::kSoftcapAfterMask &&
          (parameter_ == 0 || in_own_sequence(problem_, b, i, static_cast<Index>(j)));
      if (score != -kInfinity || reached) score = bent(score, cap);
    }
    return normalise(problem_, b, h, row);
  }
  attention_row(problem_, b, h, i, row);
  const bool dead = row.lse == -kInfinity;
  const double top = largest(row);
  AttentionRow open;
  if (changed_.q.rank() != 0) attention_row(changed_, b, h, i, open);
  const auto keys = row.scores.size();
  switch (twist_) {
    case Twist::kRawScoresInF16:
      for (std::size_t j = 0; j < keys; ++j) {
        if (row.scores[j] == -kInfinity) continue;
        const double raw = raw_score(problem_, b, h, i, static_cast<Index>(j));
        const double rounded = f16_to_float(float_to_f16(static_cast<float>(raw)));
        row.scores[j] += bent(rounded * problem_.scale(), cap) - bent(raw * problem_.scale(), cap);
      }
      if (!dead) normalise(problem_, b, h, row);
      return;
    case Twist::kNoDivision: {
      const double less = parameter_ == 1 ? 0 : std::max(top, sink_of(problem_, h));
      weigh(row, 1, [less](double score) { return std::exp(score - less); });
      return mix(problem_, b, h, row);
    }
    case Twist::kNoMaxSubtraction: {
      if (dead) return;
      double sum = narrow_exp(sink_of(problem_, h), parameter_);
      for (double score : row.scores) sum += narrow_exp(score, parameter_);
      sum = narrow(sum, parameter_);
      weigh(row, sum, [this](double score) { return narrow_exp(score, parameter_); });
      return mix(problem_, b, h, row);
    }
    case Twist::kMaskAfterSoftmax:
      for (std::size_t j = 0; j < keys; ++j) {
        row.weights[j] = row.scores[j] == -kInfinity ? 0 : open.weights[j];
      }
      return mix(problem_, b, h, row);
    case Twist::kHiddenByNumber:
    case Twist::kHiddenByAddition:
    case Twist::kPaddingByNumber:
    case Twist::kLaterByNumber:
    case Twist::kLaterByAddition:
    case Twist::kMaskedByNumber:
    case Twist::kMaskedByAddition:
      for (std::size_t j = 0; j < keys; ++j) {
        if (row.scores[j] != -kInfinity || open.scores[j] == -kInfinity) continue;
        const bool added = twist_ == Twist::kHiddenByAddition ||
                           twist_ == Twist::kLaterByAddition || twist_ == Twist::kMaskedByAddition;
        row.scores[j] = added ? open.scores[j] + parameter_ : parameter_;
      }
      return normalise(problem_, b, h, row);
    case Twist::kCausalAdded:
      for (std::size_t j = 0; j < keys; ++j) {
        if (open.scores[j] == -kInfinity) continue;
        row.scores[j] = row.scores[j] == -kInfinity ? open.scores[j] : row.scores[j] + 1;
      }
      return normalise(problem_, b, h, row);
    case Twist::kMeanWhereDead: {
      if (!dead) return;
      const bool all = parameter_ == 1;
      const auto open_key = [&](double score) { return all || score != -kInfinity; };
      const auto count = std::count_if(open.scores.begin(), open.scores.end(), open_key);
      for (std::size_t j = 0; j < keys; ++j) {
        row.weights[j] = open_key(open.scores[j]) ? 1.0 / static_cast<double>(count) : 0;
      }
      return mix(problem_, b, h, row);
    }
    case Twist::kForgottenRescale:
    case Twist::kForgottenOutRescale:
    case Twist::kForgottenSumRescale:
    case Twist::kTilesOwnMaximum:
    case Twist::kTilesAveraged:
      if (dead) return;
      weigh_tiles(sink_of(problem_, h), row);
      return mix(problem_, b, h, row);
    case Twist::kSinkUnshifted: {
      if (dead) return;
      double sum = std::exp(sink_of(problem_, h));
      for (double score : row.scores) sum += std::exp(score - top);
      weigh(row, sum, [top](double score) { return std::exp(score - top); });
      return mix(problem_, b, h, row);
    }
    case Twist::kHiddenTimesZero:
      for (std::size_t j = 0; j < keys; ++j) {
        if (row.scores[j] != -kInfinity) continue;
        const double* value = problem_.v_row(b, problem_.kv_head_of(h), static_cast<Index>(j));
        for (std::size_t c = 0; c < row.out.size(); ++c) row.out[c] += 0 * value[c];
      }
      return;
    case Twist::kQueriesUnwritten:
      if (i < static_cast<Index>(parameter_)) return;
      std::fill(row.weights.begin(), row.weights.end(), 0);
      std::fill(row.out.begin(), row.out.end(), 0);
      return;
    case Twist::kFeaturesUnwritten:
      for (std::size_t c = 0; c < row.out.size(); ++c) {
        if (static_cast<double>(c) >= parameter_) row.out[c] = 0;
      }
      return;
    default:
      return;
  }
}

void TwistedAttention::weigh_tiles(double sink, AttentionRow& row) const {
  const auto keys = static_cast<Index>(row.scores.size());
  const auto tile = static_cast<Index>(parameter_);
  const double* scores = row.scores.data();
  double* weights = row.weights.data();
  double top = -kInfinity;
  double sum = 0;
  Index tiles = 0;
  for (Index begin = 0; begin < keys; begin += tile) {
    const Index end = std::min(keys, begin + tile);
    const double last = top;
    double own = -kInfinity;
    for (Index j = begin; j < end; ++j) own = std::max(own, scores[j]);
    if (own == -kInfinity) continue;
    ++tiles;
    top = std::max(top, own);
    const bool alone = twist_ == Twist::kTilesOwnMaximum || twist_ == Twist::kTilesAveraged;
    const double less = alone ? own : top;
    const double shrink = last == -kInfinity ? 1 : std::exp(last - top);
    if (twist_ == Twist::kForgottenOutRescale) sum *= shrink;
    if (twist_ == Twist::kForgottenSumRescale) {
      for (Index j = 0; j < begin; ++j) weights[j] *= shrink;
    }
    double tile_sum = 0;
    for (Index j = begin; j < end; ++j) {
      weights[j] = scores[j] == -kInfinity ? 0 : std::exp(scores[j] - less);
      tile_sum += weights[j];
    }
    sum += tile_sum;
    if (twist_ != Twist::kTilesAveraged) continue;
    for (Index j = begin; j < end; ++j) weights[j] /= tile_sum;
  }
  sum += std::exp(sink - top);
  if (twist_ == Twist::kTilesAveraged) sum = static_cast<double>(tiles);
  for (Index j = 0; j < keys; ++j) weights[j] /= sum;
}

}  // namespace attn
