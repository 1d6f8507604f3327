#include "check/cases/case_assumptions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attn {
namespace {

// Do q, k, v and what was made of them go together in one of the two orders of four axes?
bool fits(const CaseShapes& shapes, const CaseAttributes& attributes, TensorLayout layout) {
  for (const Shape* shape : {&shapes.q, &shapes.k, &shapes.v}) {
    if (shape->size() != 4) return layout == TensorLayout::kBhsd;
  }
  const std::size_t head = layout == TensorLayout::kBhsd ? 1 : 2;
  const std::size_t row = 3 - head;
  const std::size_t key_head = shapes.keys_in_bhsd ? 1 : head;
  const std::size_t key_row = 3 - key_head;
  const Shape& q = shapes.q;
  const Shape& k = shapes.k;
  const Shape& v = shapes.v;
  const Index kv_heads = k[key_head];
  if (k[0] != q[0] || v[0] != q[0] || k[3] != q[3] || v[key_row] != k[key_row] ||
      v[key_head] != kv_heads) {
    return false;
  }
  if (kv_heads < 1 || q[head] % kv_heads != 0) return false;
  if (attributes.kv_heads.value_or(kv_heads) != kv_heads) return false;
  if (attributes.heads.value_or(q[head]) != q[head]) return false;
  if (!shapes.out.empty()) {
    const Shape want = {q[0], q[1], q[2], v[3]};
    if (shapes.out != want) return false;
  }
  return shapes.maps.size() != 4 || shapes.maps == Shape{q[0], q[head], q[row], k[key_row]};
}

}  // namespace

std::vector<std::string> assume(const CaseShapes& shapes, DType stored,
                                CaseAttributes& attributes) {
  std::vector<std::string> words;
  if (!attributes.layout) {
    attributes.layout = TensorLayout::kBhsd;
    if (!fits(shapes, attributes, TensorLayout::kBhsd) &&
        fits(shapes, attributes, TensorLayout::kBshd)) {
      attributes.layout = TensorLayout::kBshd;
      words.emplace_back("layout BSHD (BHSD does not fit)");
    } else {
      words.emplace_back("layout BHSD");
    }
  }
  if (!attributes.dtype) {
    const bool half = stored == DType::kF16 || stored == DType::kBF16;
    attributes.dtype = half ? stored : DType::kF32;
    words.push_back(half ? fmt::format("dtype {} (as it is stored)", dtype_name(stored))
                         : "dtype f32");
  }
  if (!attributes.mask_type && shapes.mask_adds) {
    attributes.mask_type = MaskType::kAdditive;
    words.emplace_back("an additive mask (it holds other numbers than 0 and 1)");
  }
  return words;
}

std::vector<std::string> assumptions(const CaseAttributes& given, const CaseAttributes& used,
                                     const std::vector<std::string>& settled,
                                     const AttentionCase& recorded) {
  const AttentionProblem& problem = recorded.problem;
  std::vector<std::string> words = settled;
  const auto note = [&](bool known, std::string word) {
    if (!known) words.push_back(std::move(word));
  };
  note(given.scale.has_value(), fmt::format("scale {:.4g} (1/sqrt(head_dim))", problem.scale()));
  note(given.causal.has_value(), "not causal");
  note(given.window_left || given.window_right, "no window");
  note(given.softcap.has_value(), "no softcap");
  if (problem.mask) note(used.mask_type.has_value(), "a boolean mask, 1 = may attend");
  if (recorded.scores) note(given.scores_stage.has_value(), "scores after the mask");
  const AttentionRules& rules = problem.rules;
  const bool before_keys = rules.causal &&
                           rules.causal_alignment == CausalAlignment::kBottomRight &&
                           problem.q_len() > problem.kv_len();
  if (problem.mask || !problem.kv_lens.empty() || !problem.cu_seqlens_k.empty() || before_keys ||
      problem.kv_len() == 0) {
    note(given.fully_masked.has_value(), "zeros for rows that see nothing");
  }
  if (heads_are_joined(*used.layout)) {
    note(given.kv_heads.has_value(), fmt::format("{} kv heads", problem.kv_heads()));
  }
  if (words.empty()) return {};
  return {fmt::format("not given, so assumed: {}", fmt::join(words, ", "))};
}

}  // namespace attn
