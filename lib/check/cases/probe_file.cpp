#include "check/cases/probe_file.h"

#include <utility>

#include "check/cases/case_file.h"

namespace attn {

TensorSet probe_file(const KernelProbe& probe, const ProbeSettings& settings) {
  const AttentionProblem& problem = probe.asked.problem;
  const AttentionRules& rules = problem.rules;
  const TensorLayout layout = settings.rules.layout.value_or(TensorLayout::kBhsd);
  // bfloat16 is stored as float32 values, which every reader knows.
  const DType wide = rules.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  const DType type = rules.dtype == DType::kF16 ? DType::kF16 : wide;
  TensorSet set;
  set.put("q", from_bhsd(problem.q, layout), type);
  if (problem.pages) {
    const KeyPages& pages = *problem.pages;
    set.put("k_pages", swap_layout(pages.k), type);
    set.put("v_pages", swap_layout(pages.v), type);
    const std::vector<double> entries(pages.table.values.begin(), pages.table.values.end());
    set.put("block_table", Tensor<double>(pages.table.shape, entries), DType::kI32);
  } else {
    set.put("k", from_bhsd(problem.k, layout), type);
    set.put("v", from_bhsd(problem.v, layout), type);
  }
  const auto line = [&](const char* name, const auto& values, DType as) {
    if (values.empty()) return;
    const std::vector<double> numbers(values.begin(), values.end());
    set.put(name, Tensor<double>({static_cast<Index>(numbers.size())}, numbers), as);
  };
  if (problem.mask) {
    set.put("mask", *problem.mask, rules.mask_type == MaskType::kBool ? DType::kU8 : wide);
  }
  line("kv_lens", problem.kv_lens, DType::kI32);
  line("alibi_slopes", problem.alibi_slopes, wide);
  line("sinks", problem.sinks, wide);
  const auto say = [&set](const char* name, AttributeValue value) {
    set.put(TensorSet::Attribute{"/", name, std::move(value)});
  };
  say("format", "attn-case");
  say("layout", layout_name(layout));
  switch (rules.dtype) {
    case DType::kF64:
      say("dtype", "float64");
      break;
    case DType::kF16:
      say("dtype", "float16");
      break;
    case DType::kBF16:
      say("dtype", "bfloat16");
      break;
    default:
      say("dtype", "float32");
  }
  say("scale", problem.scale());
  say("causal", Index{rules.causal ? 1 : 0});
  if (rules.causal_offset) {
    say("causal_offset", *rules.causal_offset);
  } else {
    say("causal_alignment",
        rules.causal_alignment == CausalAlignment::kTopLeft ? "top_left" : "bottom_right");
  }
  say("window_left", rules.window_left);
  say("window_right", rules.window_right);
  say("softcap", rules.softcap);
  if (problem.mask) say("mask_type", rules.mask_type == MaskType::kBool ? "bool" : "additive");
  say("fully_masked", rules.fully_masked == FullyMasked::kZero ? "zero" : "nan");
  if (heads_are_joined(layout)) say("heads", problem.heads());
  say("kv_heads", problem.kv_heads());
  if (problem.pages) say("pages_layout", pages_layout_name(PagesLayout::kNhd));
  return set;
}

}  // namespace attn
