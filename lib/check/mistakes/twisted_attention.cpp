// Steps that are taken differently across rows; those within a row are in twisted_rows.cpp.

#include "check/mistakes/twisted_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "check/cases/case_file.h"
#include "core/parallel.h"

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

// Softmax of the answer's scores over whatever shares a group. group(place) numbers them from 0.
template <class Group>
void normalise(const AttentionProblem& problem, Index groups, const Group& group,
               AttentionAnswer& answer) {
  std::vector<double> top(static_cast<std::size_t>(groups), -kInfinity);
  std::vector<double> sum(static_cast<std::size_t>(groups), 0);
  const auto group_at = [&](Place p) { return static_cast<std::size_t>(group(p)); };
  for_each_score(problem, [&](std::size_t at, Place p) {
    double& highest = top[group_at(p)];
    const double score = answer.scores.values[at];
    if (score > highest || std::isnan(score)) highest = score;
  });
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

AttentionAnswer softmax_elsewhere(const AttentionProblem& problem, Twist twist, int threads) {
  AttentionAnswer answer = reference_attention(problem, true, threads);
  const Index batch = problem.batch();
  const Index heads = problem.heads();
  const Index rows = problem.q_len();
  const Index keys = problem.kv_len();
  const auto over = [&](Index groups, const auto& group) {
    normalise(problem, groups, group, answer);
  };
  switch (twist) {
    case Twist::kSoftmaxOverQueries:
      over(batch * heads * keys, [=](Place p) { return (p.b * heads + p.h) * keys + p.j; });
      break;
    case Twist::kSoftmaxOverHeads:
      over(batch * rows * keys, [=](Place p) { return (p.b * rows + p.i) * keys + p.j; });
      break;
    case Twist::kSoftmaxOverBatch:
      over(heads * rows * keys, [=](Place p) { return (p.h * rows + p.i) * keys + p.j; });
      break;
    case Twist::kSoftmaxOverMatrix:
      over(batch * heads, [=](Place p) { return p.b * heads + p.h; });
      break;
    case Twist::kSoftmaxOverSequence:
      over(batch, [](Place p) { return p.b; });
      break;
    default:
      over(1, [](Place) { return Index{0}; });
  }
  return answer;
}

AttentionAnswer out_stored(const AttentionProblem& problem, bool by_rows, int threads) {
  AttentionAnswer answer = reference_attention(problem, true, threads);
  const Shape shape = answer.out.shape;
  if (by_rows) {
    answer.out = swap_layout(answer.out);
    answer.out.shape = shape;
  } else {
    std::swap(answer.out.shape[1], answer.out.shape[2]);
    answer.out = swap_layout(answer.out);
  }
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

void copy_row(const std::vector<double>& row, Index at, Tensor<double>& tensor) {
  std::copy(row.begin(), row.end(), tensor.data() + at * static_cast<Index>(row.size()));
}

}  // namespace

AttentionAnswer TwistedAttention::all(int threads) const {
  switch (twist_) {
    case Twist::kNone:
      return reference_attention(problem_, true, threads);
    case Twist::kSoftmaxOverQueries:
    case Twist::kSoftmaxOverHeads:
    case Twist::kSoftmaxOverBatch:
    case Twist::kSoftmaxOverMatrix:
    case Twist::kSoftmaxOverSequence:
    case Twist::kSoftmaxOverAll:
      return softmax_elsewhere(problem_, twist_, threads);
    case Twist::kOutStoredByRows:
      return out_stored(problem_, true, threads);
    case Twist::kOutStoredByHeads:
      return out_stored(problem_, false, threads);
    case Twist::kHeadsAsRows:
      return heads_as_rows(problem_, threads);
    default:
      break;
  }
  AttentionAnswer answer;
  answer.out =
      Tensor<double>({problem_.batch(), problem_.heads(), problem_.q_len(), problem_.value_dim()});
  answer.lse = Tensor<double>({problem_.batch(), problem_.heads(), problem_.q_len()});
  answer.weights =
      Tensor<double>({problem_.batch(), problem_.heads(), problem_.q_len(), problem_.kv_len()});
  answer.scores = answer.weights;
  parallel_for(problem_.batch() * problem_.heads(), threads, [&](Index head, int) {
    AttentionRow one;
    for (Index i = 0; i < problem_.q_len(); ++i) {
      row(head / problem_.heads(), head % problem_.heads(), i, one);
      const Index at = head * problem_.q_len() + i;
      copy_row(one.out, at, answer.out);
      copy_row(one.weights, at, answer.weights);
      copy_row(one.scores, at, answer.scores);
      answer.lse.data()[at] = one.lse;
    }
  });
  return answer;
}

AttentionAnswer twisted_attention(const AttentionProblem& problem, Twist twist, double parameter,
                                  int threads) {
  return TwistedAttention(problem, twist, parameter).all(threads);
}

}  // namespace attn
