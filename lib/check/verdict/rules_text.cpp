#include "check/verdict/rules_text.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <vector>

namespace attn {

std::string rules_text(const AttentionProblem& problem) {
  const AttentionRules& rules = problem.rules;
  std::vector<std::string> words = {rules.tf32 ? "tf32" : std::string(dtype_name(rules.dtype)),
                                    fmt::format("scale {:.4g}", problem.scale())};
  if (rules.causal) words.emplace_back("causal");
  if (rules.causal_offset) {
    words.push_back(fmt::format("offset {}", *rules.causal_offset));
  } else if (rules.causal_alignment == CausalAlignment::kBottomRight) {
    words.emplace_back("bottom-right");
  }
  if (rules.window_left >= 0) words.push_back(fmt::format("window left {}", rules.window_left));
  if (rules.window_right >= 0) words.push_back(fmt::format("window right {}", rules.window_right));
  if (rules.softcap > 0) words.push_back(fmt::format("softcap {:.4g}", rules.softcap));
  if (problem.mask) {
    words.emplace_back(rules.mask_type == MaskType::kBool ? "boolean mask" : "additive mask");
  }
  if (problem.pages) words.push_back(fmt::format("pages of {} keys", problem.pages->page_size()));
  if (!problem.kv_lens.empty()) words.emplace_back("kv_lens");
  if (!problem.cu_seqlens_q.empty()) {
    words.push_back(fmt::format("{} packed sequences", problem.cu_seqlens_q.size() - 1));
  }
  if (!problem.alibi_slopes.empty()) words.emplace_back("alibi");
  if (!problem.sinks.empty()) words.emplace_back("sinks");
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace attn
