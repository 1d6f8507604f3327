#include "check/head_rows.h"

#include <algorithm>
#include <utility>

#include "check/cases/case_part.h"
#include "check/reference/reference_attention.h"
#include "check/verdict/saturation.h"

namespace attn {

namespace {

// Two axes of a map of one head.
Tensor<double> plain(Tensor<double> map) {
  map.shape = {map.dim(2), map.dim(3)};
  return map;
}

}  // namespace

AttentionProblem head_rows(const AttentionProblem& whole, Index b, Index head, Index first_row,
                           Index rows) {
  const Index kv_head = whole.kv_head_of(head);
  const Index keys = whole.kv_len();
  AttentionProblem part;
  part.rules = whole.rules;
  part.q = box_of(whole.q, {b, head, first_row, 0}, {1, 1, rows, whole.head_dim()});
  part.k = box_of(whole.k, {b, kv_head, 0, 0}, {1, 1, keys, whole.head_dim()});
  part.v = box_of(whole.v, {b, kv_head, 0, 0}, {1, 1, keys, whole.value_dim()});
  if (whole.mask) {
    const Tensor<double>& mask = *whole.mask;
    const auto along = [&](Index axis, Index first) { return mask.dim(axis) == 1 ? 0 : first; };
    part.mask = box_of(mask, {along(0, b), along(1, head), along(2, first_row), 0},
                       {1, 1, mask.dim(2) == 1 ? 1 : rows, mask.dim(3)});
  }
  const auto at = static_cast<std::size_t>(head);
  if (!whole.kv_lens.empty()) part.kv_lens = {whole.kv_lens[static_cast<std::size_t>(b)]};
  part.cu_seqlens_q = whole.cu_seqlens_q;
  part.cu_seqlens_k = whole.cu_seqlens_k;
  if (!whole.alibi_slopes.empty()) part.alibi_slopes = {whole.alibi_slopes[at]};
  if (!whole.sinks.empty()) part.sinks = {whole.sinks[at]};
  part.cut = Cut{first_row, whole.q_len(), 0, keys, b, kv_head};
  part.pages = whole.pages;
  return part;
}

Tensor<double> chosen_weights(const AttentionProblem& problem, const std::vector<Index>& heads,
                              const std::vector<Index>& rows, int threads) {
  const auto head_count = static_cast<Index>(heads.size());
  const auto row_count = static_cast<Index>(rows.size());
  const Index keys = problem.kv_len();
  Tensor<double> chosen({problem.batch(), head_count, row_count, keys});
  double* to = chosen.data();
  for (Index b = 0; b < problem.batch(); ++b) {
    for (Index head : heads) {
      for (std::size_t begin = 0; begin < rows.size();) {
        // Rows that follow each other are computed together.
        std::size_t end = begin + 1;
        while (end < rows.size() && rows[end] == rows[end - 1] + 1) ++end;
        const AttentionProblem part =
            head_rows(problem, b, head, rows[begin], static_cast<Index>(end - begin));
        const AttentionAnswer answer = reference_attention(part, true, threads);
        to = std::copy(answer.weights.values.begin(), answer.weights.values.end(), to);
        begin = end;
      }
    }
  }
  return chosen;
}

HeadSteps head_steps(const AttentionProblem& whole, Index b, Index head, Index first_row,
                     Index rows, int threads) {
  HeadSteps steps;
  steps.problem = head_rows(whole, b, head, first_row, rows);
  AttentionProblem unscaled = steps.problem;
  unscaled.rules.scale = 1;
  steps.products = plain(reference_scores(unscaled, ScoreStage::kRaw, threads));
  steps.scaled = plain(reference_scores(steps.problem, ScoreStage::kRaw, threads));
  if (whole.rules.softcap > 0) {
    steps.capped = plain(reference_scores(steps.problem, ScoreStage::kSoftcapped, threads));
  }
  AttentionAnswer answer = reference_attention(steps.problem, true, threads);
  steps.masked = plain(std::move(answer.scores));
  steps.weights = plain(std::move(answer.weights));
  steps.out = plain(std::move(answer.out));
  for (Index i = 0; i < rows; ++i) {
    steps.entropy.push_back(entropy_of(steps.weights.data() + i * whole.kv_len(), whole.kv_len()));
  }
  return steps;
}

}  // namespace attn
