#include "check/case_alternatives.h"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "check/check_attention.h"
#include "core/error.h"

namespace attn {
namespace {

struct Alternative {
  std::string option;
  std::function<void(AttentionCase&)> take;
};

void swap_axes(AttentionCase& recorded) {
  AttentionProblem& problem = recorded.problem;
  problem.q = swap_layout(problem.q);
  if (!problem.pages) {  // else they are of the pages' layout
    problem.k = swap_layout(problem.k);
    problem.v = swap_layout(problem.v);
  }
  for (std::optional<Tensor<double>>* tensor : {&recorded.out, &recorded.out_perm}) {
    if (*tensor) *tensor = swap_layout(**tensor);
  }
  if (!recorded.probe) return;
  CausalProbe& probe = *recorded.probe;
  for (Tensor<double>* tensor : {&probe.k, &probe.v, &probe.out}) *tensor = swap_layout(*tensor);
}

// The same pool with rows and heads of a page exchanged.
void swap_page_axes(AttentionCase& recorded) {
  AttentionProblem& problem = recorded.problem;
  KeyPages pages = *problem.pages;
  pages.k = swap_layout(pages.k);
  pages.v = swap_layout(pages.v);
  for (Index b = 0; b < pages.sequences(); ++b) {
    if (pages.page_size() < 1 || pages.blocks_of(b) > pages.blocks()) {
      throw DataError("block_table: is too short for such pages");
    }
  }
  const KeyBox box = all_keys(pages, problem.kv_len());
  problem.k = gathered(pages, pages.k, box, page_by_table);
  problem.v = gathered(pages, pages.v, box, page_by_table);
  problem.pages = std::make_shared<const KeyPages>(std::move(pages));
}

std::vector<Alternative> left_open(const AttentionCase& recorded, const CaseAttributes& given) {
  std::vector<Alternative> open;
  const auto add = [&open](const char* option, std::function<void(AttentionCase&)> take) {
    open.push_back({option, std::move(take)});
  };
  const AttentionProblem& problem = recorded.problem;
  if (!given.layout && recorded.layout == TensorLayout::kBhsd) add("--layout bshd", swap_axes);
  if (!given.pages_layout && problem.pages) add("--pages-layout hnd", swap_page_axes);
  if (!given.causal) {
    add("--causal", [](AttentionCase& one) { one.problem.rules.causal = true; });
    if (!recorded.alignment_given && problem.q_len() != problem.kv_len()) {
      add("--causal --causal-alignment bottom-right", [](AttentionCase& one) {
        one.problem.rules.causal = true;
        one.problem.rules.causal_alignment = CausalAlignment::kBottomRight;
        one.alignment_given = true;
      });
    }
  }
  if (!given.mask_type && problem.mask) {
    add("--mask-type additive",
        [](AttentionCase& one) { one.problem.rules.mask_type = MaskType::kAdditive; });
  }
  if (!given.fully_masked) {
    add("--fully-masked nan",
        [](AttentionCase& one) { one.problem.rules.fully_masked = FullyMasked::kNan; });
  }
  if (!given.scores_stage && recorded.scores) {
    add("--scores-stage raw", [](AttentionCase& one) { one.scores_stage = ScoreStage::kRaw; });
    add("--scores-stage softcapped",
        [](AttentionCase& one) { one.scores_stage = ScoreStage::kSoftcapped; });
  }
  if (!given.dtype && problem.rules.dtype == DType::kF32) {
    add("--dtype f16", [](AttentionCase& one) { one.problem.rules.dtype = DType::kF16; });
    add("--dtype bf16", [](AttentionCase& one) { one.problem.rules.dtype = DType::kBF16; });
  }
  return open;
}

}  // namespace

std::vector<std::string> what_would_pass(const AttentionCase& recorded, const CaseAttributes& given,
                                         int threads) {
  constexpr Index kMost = Index{1} << 20;
  const AttentionProblem& problem = recorded.problem;
  const Index extents[] = {problem.batch(), problem.heads(), problem.q_len(), problem.kv_len()};
  if (checked_product(extents).value_or(kMost + 1) > kMost) return {};
  std::vector<std::string> passing;
  for (const Alternative& alternative : left_open(recorded, given)) {
    AttentionCase other = recorded;
    try {
      alternative.take(other);
      validate(other);
    } catch (const DataError&) {
      continue;  // the shapes do not fit so
    }
    CheckSettings settings;
    settings.threads = threads;
    if (check_attention(other, settings).verdict.outcome() == Outcome::kPass) {
      passing.push_back(alternative.option);
    }
  }
  return passing;
}

}  // namespace attn
