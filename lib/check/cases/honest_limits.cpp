#include "check/cases/honest_limits.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace attn {

namespace {

// Multiplications of each honest order that are spent on limits: some seconds.
constexpr double kMostWork = 4e9;
constexpr Index kBlockRows = 16;
constexpr Index kFewestBlocks = 16;

AttentionProblem tf32_problem(const AttentionProblem& problem) {
  AttentionProblem rounded = problem;
  for (Tensor<double>* tensor : {&rounded.q, &rounded.k, &rounded.v}) {
    for (double& value : tensor->values) value = tf32_rounded(value);
  }
  return rounded;
}

}  // namespace

double work_of(const AttentionProblem& outline, const CasePart& part) {
  constexpr Index kLooks = 64;  // rows whose sight is looked at, evenly spread
  const Index step = std::max<Index>(1, part.rows / kLooks);
  double keys = 0;
  Index looked = 0;
  for (Index b = part.batch; b < part.batch + part.batches; ++b) {
    for (Index i = part.row; i < part.end_row(); i += step) {
      const Sight sight = sight_of(outline, b, i);
      keys += static_cast<double>(sight.end - sight.first);
      ++looked;
    }
  }
  if (looked == 0) return 0;
  const Index heads = part.kv_heads * (outline.heads() / outline.kv_heads());
  return keys / static_cast<double>(looked) * static_cast<double>(part.batches * part.rows) *
         static_cast<double>(heads) * static_cast<double>(outline.head_dim() + outline.value_dim());
}

HonestSample::HonestSample(const PartedCase& source, std::vector<CasePart> plan,
                           const std::vector<std::vector<Index>>& wrong, bool maps,
                           const AttentionAnswer* truth, int threads)
    : source_(source), maps_(maps), truth_(truth), threads_(threads) {
  const AttentionProblem& problem = source.outline().problem;
  all_rows_ = problem.batch() * problem.heads() * problem.q_len();
  double work = 0;
  for (const CasePart& part : plan) work += work_of(problem, part);
  if (work <= kMostWork) {
    parts_ = std::move(plan);
    count();
    return;
  }
  truth_ = nullptr;
  const Index blocks = (problem.q_len() + kBlockRows - 1) / kBlockRows;
  const Index all = problem.batch() * problem.kv_heads() * blocks;
  const auto wanted = static_cast<Index>(static_cast<double>(all) * kMostWork / work);
  const Index chosen = std::min(all, std::max(kFewestBlocks, wanted));
  const Index group = problem.heads() / problem.kv_heads();
  for (Index n = 0; n < chosen; ++n) {
    const Index at = chosen == 1 ? 0 : n * (all - 1) / (chosen - 1);
    const Index head = at / blocks;
    add_block(head / problem.kv_heads(), head % problem.kv_heads() * group, at % blocks);
  }
  for (const std::vector<Index>& place : wrong) {
    if (place.size() >= 3) add_block(place[0], place[1], place[2] / kBlockRows);
  }
  count();
}

void HonestSample::add_block(Index batch, Index head, Index block) {
  const AttentionProblem& problem = source_.outline().problem;
  CasePart part;
  part.batch = batch;
  part.batches = 1;
  part.kv_head = problem.kv_head_of(head);
  part.kv_heads = 1;
  part.row = block * kBlockRows;
  part.rows = std::min(kBlockRows, problem.q_len() - part.row);
  part.keys = problem.kv_len();
  if (!maps_) part = with_keys_in_sight(problem, part);
  const bool known = std::any_of(parts_.begin(), parts_.end(), [&](const CasePart& other) {
    return other.batch == part.batch && other.kv_head == part.kv_head && other.row == part.row;
  });
  if (!known) parts_.push_back(part);
}

void HonestSample::count() {
  const AttentionProblem& problem = source_.outline().problem;
  const Index group = problem.heads() / problem.kv_heads();
  for (const CasePart& part : parts_) {
    rows_ += part.batches * part.kv_heads * group * part.rows;
    work_ += work_of(problem, part);
  }
}

AnswerLimits HonestSample::limits(DType dtype, bool tf32, bool round_scores,
                                  const AnswerLimits& sizes,
                                  const std::function<void(double)>& done) const {
  HonestErrors out, weights, scores, lse;
  const DType type = tf32 ? DType::kF16 : dtype;
  for (const CasePart& part : parts_) {
    std::optional<AttentionCase> cut;
    const bool whole = parts_.size() == 1 && rows_ == all_rows_ && source_.whole() != nullptr;
    if (!whole) cut = source_.part(part);
    const AttentionProblem& problem = whole ? source_.whole()->problem : cut->problem;
    std::optional<AttentionAnswer> computed;
    if (!whole || truth_ == nullptr) computed = reference_attention(problem, maps_, threads_);
    const AttentionAnswer& truth = computed ? *computed : *truth_;
    std::optional<AttentionProblem> rounded;
    if (tf32) rounded = tf32_problem(problem);
    for (std::size_t order = 0; order < std::size(kPlainOrders); ++order) {
      const AttentionAnswer plain = plain_attention(
          rounded ? *rounded : problem, type, kPlainOrders[order], round_scores, maps_, threads_);
      out.add(order, plain.out, truth.out);
      lse.add(order, plain.lse, truth.lse);
      if (!maps_) continue;
      weights.add(order, plain.weights, truth.weights);
      scores.add(order, plain.scores, truth.scores);
    }
    done(work_of(source_.outline().problem, part));
  }
  return {out.limits(type, sizes.out), weights.limits(type, sizes.weights),
          scores.limits(type, sizes.scores), lse.limits(type, sizes.lse, 1)};
}

}  // namespace attn
