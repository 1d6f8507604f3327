#include "check/twisted_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "check/case_file.h"

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The place of a score in its tensor, axis by axis.
struct Place {
  Index b, h, i, j;
};

template <class Task>
void for_each_score(const AttentionProblem& problem, const Task& task) {
  Index at = 0;
  for (Index b = 0; b < problem.batch(); ++b) {
    for (Index h = 0; h < problem.heads(); ++h) {
      for (Index i = 0; i < problem.q_len(); ++i) {
        for (Index j = 0; j < problem.kv_len(); ++j)
          task(static_cast<std::size_t>(at++), Place{b, h, i, j});
      }
    }
  }
}

// Out from weights, over those keys alone that have one: hidden values may be NaN.
void mix(const AttentionProblem& problem, AttentionAnswer& answer) {
  std::fill(answer.out.values.begin(), answer.out.values.end(), 0);
  const Index features = problem.value_dim();
  for_each_score(problem, [&](std::size_t at, Place p) {
    const double weight = answer.weights.values[at];
    if (weight == 0) return;
    const double* value = problem.v_row(p.b, problem.kv_head_of(p.h), p.j);
    double* out =
        answer.out.data() + ((p.b * problem.heads() + p.h) * problem.q_len() + p.i) * features;
    for (Index c = 0; c < features; ++c) out[c] += weight * value[c];
  });
}

// Softmax of the answer's scores over whatever shares a group; a sink takes part where a group is
// a row. group(place) numbers them from 0.
template <class Group>
void normalise(const AttentionProblem& problem, Index groups, bool with_sinks, const Group& group,
               AttentionAnswer& answer) {
  std::vector<double> top(static_cast<std::size_t>(groups), -kInfinity);
  std::vector<double> sum(static_cast<std::size_t>(groups), 0);
  const auto group_at = [&](Place p) { return static_cast<std::size_t>(group(p)); };
  for_each_score(problem, [&](std::size_t at, Place p) {
    double& highest = top[group_at(p)];
    const double score = answer.scores.values[at];
    if (score > highest || std::isnan(score)) highest = score;
  });
  if (with_sinks && !problem.sinks.empty()) {
    for (std::size_t row = 0; row < top.size(); ++row) {
      const auto head =
          static_cast<std::size_t>(static_cast<Index>(row) / problem.q_len() % problem.heads());
      if (top[row] == -kInfinity) continue;
      top[row] = std::max(top[row], problem.sinks[head]);
      sum[row] = std::exp(problem.sinks[head] - top[row]);
    }
  }
  for_each_score(problem, [&](std::size_t at, Place p) {
    const double score = answer.scores.values[at];
    const std::size_t mine = group_at(p);
    answer.weights.values[at] = score == -kInfinity ? 0 : std::exp(score - top[mine]);
    sum[mine] += answer.weights.values[at];
  });
  for_each_score(problem, [&](std::size_t at, Place p) {
    if (answer.scores.values[at] != -kInfinity) answer.weights.values[at] /= sum[group_at(p)];
  });
  mix(problem, answer);
}

void normalise_rows(const AttentionProblem& problem, AttentionAnswer& answer) {
  const Index rows = problem.q_len();
  const Index heads = problem.heads();
  normalise(
      problem, problem.batch() * heads * rows, true,
      [=](Place p) { return (p.b * heads + p.h) * rows + p.i; }, answer);
}

// Scores and all else of the problem with some rules changed.
template <class Change>
AttentionAnswer under(const AttentionProblem& problem, int threads, const Change& change) {
  AttentionProblem changed = problem;
  change(changed);
  return reference_attention(changed, true, threads);
}

void lift_masks(AttentionProblem& problem) {
  problem.rules.causal = false;
  problem.rules.window_left = -1;
  problem.rules.window_right = -1;
  problem.mask.reset();
}

AttentionAnswer softcap_after_mask(const AttentionProblem& problem, int threads) {
  const double cap = problem.rules.softcap;
  AttentionAnswer answer =
      under(problem, threads, [](AttentionProblem& changed) { changed.rules.softcap = 0; });
  if (cap > 0) {
    for (double& score : answer.scores.values) score = cap * std::tanh(score / cap);
  }
  normalise_rows(problem, answer);
  return answer;
}

AttentionAnswer raw_scores_in_f16(const AttentionProblem& problem, int threads) {
  AttentionAnswer answer = reference_attention(problem, true, threads);
  AttentionProblem unscaled = problem;
  unscaled.rules.scale = 1;
  const Tensor<double> raw = reference_scores(unscaled, ScoreStage::kRaw, threads);
  const double cap = problem.rules.softcap;
  const auto capped = [cap](double score) {
    return cap > 0 ? cap * std::tanh(score / cap) : score;
  };
  for (std::size_t n = 0; n < raw.values.size(); ++n) {
    double& score = answer.scores.values[n];
    if (score == -kInfinity) continue;
    const double rounded = f16_to_float(float_to_f16(static_cast<float>(raw.values[n])));
    score += capped(rounded * problem.scale()) - capped(raw.values[n] * problem.scale());
  }
  normalise_rows(problem, answer);
  return answer;
}

AttentionAnswer softmax_elsewhere(const AttentionProblem& problem, Twist twist, int threads) {
  AttentionAnswer answer = reference_attention(problem, true, threads);
  const Index batch = problem.batch();
  const Index heads = problem.heads();
  const Index rows = problem.q_len();
  const Index keys = problem.kv_len();
  if (twist == Twist::kSoftmaxOverQueries) {
    normalise(
        problem, batch * heads * keys, false,
        [=](Place p) { return (p.b * heads + p.h) * keys + p.j; }, answer);
  } else if (twist == Twist::kSoftmaxOverHeads) {
    normalise(
        problem, batch * rows * keys, false,
        [=](Place p) { return (p.b * rows + p.i) * keys + p.j; }, answer);
  } else if (twist == Twist::kSoftmaxOverMatrix) {
    normalise(
        problem, batch * heads, false, [=](Place p) { return p.b * heads + p.h; }, answer);
  } else {
    normalise(
        problem, 1, false, [](Place) { return 0; }, answer);
  }
  return answer;
}

AttentionAnswer no_division(const AttentionProblem& problem, int threads) {
  AttentionAnswer answer = reference_attention(problem, true, threads);
  const Index keys = problem.kv_len();
  for (Index row = 0; row < answer.lse.size(); ++row) {
    double* weights = answer.weights.data() + row * keys;
    const double* scores = answer.scores.data() + row * keys;
    if (keys == 0) continue;
    const double top = *std::max_element(scores, scores + keys);
    for (Index j = 0; j < keys; ++j) {
      weights[j] = scores[j] == -kInfinity ? 0 : std::exp(scores[j] - top);
    }
  }
  mix(problem, answer);
  return answer;
}

AttentionAnswer no_max_subtraction(const AttentionProblem& problem, int threads) {
  AttentionAnswer answer = reference_attention(problem, true, threads);
  const Index keys = problem.kv_len();
  for (Index row = 0; row < answer.lse.size(); ++row) {
    double* weights = answer.weights.data() + row * keys;
    const double* scores = answer.scores.data() + row * keys;
    double sum = 0;
    for (Index j = 0; j < keys; ++j) {
      weights[j] = static_cast<double>(std::exp(static_cast<float>(scores[j])));
      sum += weights[j];
    }
    if (answer.lse.data()[row] == -kInfinity) continue;  // a row without keys is as it was
    for (Index j = 0; j < keys; ++j) weights[j] /= sum;
  }
  mix(problem, answer);
  return answer;
}

AttentionAnswer mask_after_softmax(const AttentionProblem& problem, int threads) {
  const AttentionAnswer truth = reference_attention(problem, true, threads);
  AttentionAnswer answer = under(problem, threads, lift_masks);
  for (std::size_t n = 0; n < truth.scores.values.size(); ++n) {
    if (truth.scores.values[n] == -kInfinity) answer.weights.values[n] = 0;
  }
  mix(problem, answer);
  return answer;
}

AttentionAnswer hidden_by(const AttentionProblem& problem, double number, bool added, int threads) {
  AttentionAnswer answer = reference_attention(problem, true, threads);
  const AttentionAnswer open = under(problem, threads, lift_masks);
  for (std::size_t n = 0; n < answer.scores.values.size(); ++n) {
    if (answer.scores.values[n] != -kInfinity || open.scores.values[n] == -kInfinity) continue;
    answer.scores.values[n] = added ? open.scores.values[n] + number : number;
  }
  normalise_rows(problem, answer);
  return answer;
}

AttentionAnswer mean_where_dead(const AttentionProblem& problem, int threads) {
  AttentionAnswer answer = reference_attention(problem, true, threads);
  const AttentionAnswer open = under(problem, threads, lift_masks);
  const Index keys = problem.kv_len();
  for (Index row = 0; row < answer.lse.size(); ++row) {
    if (answer.lse.data()[row] != -kInfinity) continue;
    const double* scores = open.scores.data() + row * keys;
    const auto count =
        std::count_if(scores, scores + keys, [](double score) { return score != -kInfinity; });
    for (Index j = 0; j < keys; ++j) {
      answer.weights.data()[row * keys + j] =
          scores[j] == -kInfinity ? 0 : 1.0 / static_cast<double>(count);
    }
  }
  mix(problem, answer);
  return answer;
}

AttentionAnswer forgotten_rescale(const AttentionProblem& problem, Index tile, bool sum_too,
                                  int threads) {
  AttentionAnswer answer = reference_attention(problem, true, threads);
  const Index keys = problem.kv_len();
  for (Index row = 0; row < answer.lse.size(); ++row) {
    const double* scores = answer.scores.data() + row * keys;
    double* weights = answer.weights.data() + row * keys;
    double top = -kInfinity;
    double sum = 0;
    for (Index begin = 0; begin < keys; begin += tile) {
      const Index end = std::min(keys, begin + tile);
      const double last = top;
      for (Index j = begin; j < end; ++j) top = std::max(top, scores[j]);
      if (!sum_too && last != -kInfinity) sum *= std::exp(last - top);
      for (Index j = begin; j < end; ++j) {
        weights[j] = scores[j] == -kInfinity ? 0 : std::exp(scores[j] - top);
        sum += weights[j];
      }
    }
    if (sum == 0) continue;
    for (Index j = 0; j < keys; ++j) weights[j] /= sum;
  }
  mix(problem, answer);
  return answer;
}

AttentionAnswer out_stored_by_rows(const AttentionProblem& problem, int threads) {
  AttentionAnswer answer = reference_attention(problem, true, threads);
  const Shape shape = answer.out.shape;
  answer.out = swap_layout(answer.out);
  answer.out.shape = shape;
  return answer;
}

// Only where each tensor has an axis for the other's: no table of one row or one number a head.
AttentionAnswer heads_as_rows(const AttentionProblem& problem, int threads) {
  const bool square = problem.kv_heads() == problem.heads() && problem.q_len() > 0 &&
                      problem.q_len() == problem.kv_len();
  if (!square || problem.mask || !problem.kv_lens.empty() || !problem.cu_seqlens_q.empty() ||
      !problem.alibi_slopes.empty() || !problem.sinks.empty()) {
    return reference_attention(problem, true, threads);
  }
  AttentionProblem swapped = problem;
  swapped.q = swap_layout(problem.q);
  swapped.k = swap_layout(problem.k);
  swapped.v = swap_layout(problem.v);
  AttentionAnswer answer = reference_attention(swapped, false, threads);
  answer.out = swap_layout(answer.out);
  return answer;
}

}  // namespace

AttentionAnswer twisted_attention(const AttentionProblem& problem, Twist twist, double parameter,
                                  int threads) {
  switch (twist) {
    case Twist::kNone:
      break;
    case Twist::kSoftcapAfterMask:
      return softcap_after_mask(problem, threads);
    case Twist::kRawScoresInF16:
      return raw_scores_in_f16(problem, threads);
    case Twist::kSoftmaxOverQueries:
    case Twist::kSoftmaxOverHeads:
    case Twist::kSoftmaxOverMatrix:
    case Twist::kSoftmaxOverAll:
      return softmax_elsewhere(problem, twist, threads);
    case Twist::kNoDivision:
      return no_division(problem, threads);
    case Twist::kNoMaxSubtraction:
      return no_max_subtraction(problem, threads);
    case Twist::kMaskAfterSoftmax:
      return mask_after_softmax(problem, threads);
    case Twist::kHiddenByNumber:
      return hidden_by(problem, parameter, false, threads);
    case Twist::kHiddenByAddition:
      return hidden_by(problem, parameter, true, threads);
    case Twist::kMeanWhereDead:
      return mean_where_dead(problem, threads);
    case Twist::kForgottenRescale:
      return forgotten_rescale(problem, static_cast<Index>(parameter), true, threads);
    case Twist::kForgottenOutRescale:
      return forgotten_rescale(problem, static_cast<Index>(parameter), false, threads);
    case Twist::kOutStoredByRows:
      return out_stored_by_rows(problem, threads);
    case Twist::kHeadsAsRows:
      return heads_as_rows(problem, threads);
  }
  return reference_attention(problem, true, threads);
}

}  // namespace attn
