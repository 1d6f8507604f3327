#include "check/mistakes/twisted_gradient.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "check/reference/row_product.h"
#include "core/parallel.h"

namespace attn {

namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

void add_scaled(double factor, const double* from, Index count, double* to) {
  if (factor == 0) return;
  for (Index c = 0; c < count; ++c) to[c] += factor * from[c];
}

AttentionAnswer maps_of(const AttentionProblem& problem, const BackwardView& view, int threads) {
  AttentionAnswer answer = reference_attention(view.problem, true, threads);
  const Index keys = problem.kv_len();
  if (view.stored_lse) answer.lse = reference_attention(problem, false, threads).lse;
  for (Index row = 0; row < answer.lse.size(); ++row) {
    const double lse = answer.lse.data()[row];
    for (Index j = 0; j < keys; ++j) {
      double& weight = answer.weights.data()[row * keys + j];
      const double score = answer.scores.data()[row * keys + j];
      if (view.stored_lse) weight = lse == kHidden || score == kHidden ? 0 : std::exp(score - lse);
      if (std::isnan(weight)) weight = 0;  // a row that sees nothing
    }
  }
  return answer;
}

class TwistedGroup {
 public:
  TwistedGroup(const AttentionProblem& problem, const Tensor<double>& d_out,
               const BackwardView& view, const AttentionAnswer& values,
               const AttentionAnswer& scores, const Tensor<double>& forward_out,
               const BackwardSteps& steps)
      : problem_(problem),
        d_out_(d_out),
        view_(view),
        values_(values),
        scores_(scores),
        forward_out_(forward_out),
        steps_(steps),
        rows_(problem.q_len()),
        keys_(problem.kv_len()) {}

  // One query head's part of all three; dK and dV go to the key-value head `to`, times `share`.
  void add_head(Index b, Index h, Index to, double share, AttentionGradient& gradient) {
    fill_d_scores(b, h);
    const Index read = problem_.kv_head_of(h);
    const Index dim = problem_.head_dim();
    const Index value_dim = problem_.value_dim();
    const double scale = view_.problem.scale();
    const Index first = (b * problem_.kv_heads() + to) * keys_;
    for (Index i = 0; i < rows_ && !skipped(i); ++i) {
      const Index row = (b * problem_.heads() + h) * rows_ + i;
      const double* query = problem_.q_row(b, h, i);
      double* d_query = gradient.d_q.data() + row * dim;
      const double* d_out = d_out_.data() + row * value_dim;
      const double top = row_top(row);
      for (Index j = 0; j < keys_; ++j) {
        const double d_for_query = d_score(steps_.query_turned, i, j);
        const double d_for_key = d_score(steps_.key_turned, i, j);
        add_scaled(d_for_query * std::pow(scale, steps_.query_scale), problem_.k_row(b, read, j),
                   dim, d_query);
        add_scaled(share * d_for_key * std::pow(scale, steps_.key_scale), query, dim,
                   gradient.d_k.data() + (first + j) * dim);
        add_scaled(share * value_weight(b, h, i, j, top), d_out, value_dim,
                   gradient.d_v.data() + (first + j) * value_dim);
      }
    }
  }

 private:
  bool skipped(Index i) const { return steps_.queries >= 0 && i >= steps_.queries; }

  double d_score(bool turned, Index i, Index j) const {
    return d_scores_[static_cast<std::size_t>(turned ? j * keys_ + i : i * keys_ + j)];
  }

  double row_top(Index row) const {
    const double* scores = values_.scores.data() + row * keys_;
    return keys_ > 0 ? *std::max_element(scores, scores + keys_) : 0;
  }

  double value_weight(Index b, Index h, Index i, Index j, double top) const {
    const Index head = (b * problem_.heads() + h) * rows_ * keys_;
    const double score = values_.scores.data()[head + i * keys_ + j];
    switch (steps_.values) {
      case ValueWeights::kUnnormalised:
        return score == kHidden ? 0 : std::exp(score - top);
      case ValueWeights::kScores:
        return score == kHidden ? 0 : score;
      case ValueWeights::kTransposed:
        return values_.weights.data()[head + j * keys_ + i];
      case ValueWeights::kWeights:
        break;
    }
    return values_.weights.data()[head + i * keys_ + j];
  }

  double cap_slope(const double* query, const double* key) const {
    const double cap = view_.problem.rules.softcap;
    if (cap == 0 || !steps_.cap_slope) return 1;
    const double bent =
        std::tanh(product(query, key, problem_.head_dim()) * view_.problem.scale() / cap);
    return 1 - bent * bent;
  }

  void fill_d_scores(Index b, Index h) {
    const Index value_dim = problem_.value_dim();
    const Index kv_head = problem_.kv_head_of(h);
    d_scores_.assign(static_cast<std::size_t>(rows_ * keys_), 0);
    std::vector<double> d_weights(static_cast<std::size_t>(keys_));
    for (Index i = 0; i < rows_ && !skipped(i); ++i) {
      const Index row = (b * problem_.heads() + h) * rows_ + i;
      const double* weights = scores_.weights.data() + row * keys_;
      const double* scores = scores_.scores.data() + row * keys_;
      const double* d_out = d_out_.data() + row * value_dim;
      double delta = 0;
      if (view_.stored_lse)
        delta = product(d_out, forward_out_.data() + row * value_dim, value_dim);
      if (std::isnan(delta)) delta = 0;  // a row that sees nothing
      for (Index j = 0; j < keys_; ++j) {
        double& d_weight = d_weights[static_cast<std::size_t>(j)];
        d_weight = 0;
        if (scores[j] == kHidden) continue;
        d_weight = product(d_out, problem_.v_row(b, kv_head, j), value_dim);
        if (!view_.stored_lse) delta += weights[j] * d_weight;
      }
      for (Index j = 0; j < keys_; ++j) {
        if (scores[j] == kHidden) continue;
        const double d_weight = d_weights[static_cast<std::size_t>(j)];
        double d = d_weight - steps_.delta * delta;
        if (steps_.scores == ScoreGradient::kDiagonal) d = (1 - weights[j]) * d_weight;
        if (steps_.scores != ScoreGradient::kNoWeights) d *= weights[j];
        d_scores_[static_cast<std::size_t>(i * keys_ + j)] =
            d * cap_slope(problem_.q_row(b, h, i), problem_.k_row(b, kv_head, j));
      }
    }
  }

  const AttentionProblem& problem_;
  const Tensor<double>& d_out_;
  const BackwardView& view_;
  const AttentionAnswer& values_;
  const AttentionAnswer& scores_;
  const Tensor<double>& forward_out_;
  const BackwardSteps& steps_;
  const Index rows_, keys_;
  std::vector<double> d_scores_;
};

struct Receiver {
  Index kv_head = 0;
  double share = 1;
};

Receiver receiver(const AttentionProblem& problem, GroupSum rule, Index h) {
  const Index group = problem.heads() / problem.kv_heads();
  const Index own = problem.kv_head_of(h);
  switch (rule) {
    case GroupSum::kFirst:
      return {own, h % group == 0 ? 1.0 : 0.0};
    case GroupSum::kLast:
      return {own, h % group == group - 1 ? 1.0 : 0.0};
    case GroupSum::kMean:
      return {own, 1.0 / static_cast<double>(group)};
    case GroupSum::kTiled:
      return {h % problem.kv_heads(), 1};
    case GroupSum::kOwn:
      break;
  }
  return {own, 1};
}

}  // namespace

AttentionGradient twisted_gradient(const AttentionProblem& problem, const Tensor<double>& d_out,
                                   const BackwardView& for_values, const BackwardView& for_scores,
                                   const BackwardSteps& steps, int threads) {
  const AttentionAnswer scores = maps_of(problem, for_scores, threads);
  AttentionAnswer others;
  if (&for_values != &for_scores) others = maps_of(problem, for_values, threads);
  const AttentionAnswer& values = &for_values == &for_scores ? scores : others;
  Tensor<double> out;
  if (for_scores.stored_lse) out = reference_attention(problem, false, threads).out;
  AttentionGradient gradient = no_gradient(problem);
  parallel_for(problem.batch(), threads, [&](Index b, int) {
    TwistedGroup group(problem, d_out, for_scores, values, scores, out, steps);
    for (Index h = 0; h < problem.heads(); ++h) {
      const Receiver to = receiver(problem, steps.group, h);
      group.add_head(b, h, to.kv_head, to.share, gradient);
    }
  });
  return gradient;
}

}  // namespace attn
