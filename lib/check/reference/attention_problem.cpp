#include "check/reference/attention_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "core/error.h"
#include "core/text.h"

namespace attn {

namespace {

// Offsets and windows are added to positions: far below 63 bits, far above any sequence.
constexpr Index kFarthest = Index{1} << 40;

void require(bool condition, const std::string& what) {
  if (!condition) throw DataError(what);
}

void require_near(const char* name, Index value) {
  require(value >= -kFarthest && value <= kFarthest,
          fmt::format("{}: want at most {} in size, got {}", name, kFarthest, value));
}

void validate_tensors(const AttentionProblem& problem) {
  const auto four_axes = [](const char* name, const Tensor<double>& tensor) {
    require(tensor.rank() == 4,
            fmt::format("{}: want 4 axes (batch, heads, rows, features), got shape {}", name,
                        shape_text(tensor.shape)));
  };
  four_axes("q", problem.q);
  four_axes("k", problem.k);
  four_axes("v", problem.v);
  const Index kv_heads = problem.k.dim(1);
  require(problem.heads() >= 1 && problem.head_dim() >= 1,
          fmt::format("q: want at least one head and one feature, got shape {}",
                      shape_text(problem.q.shape)));
  require(kv_heads >= 1 && problem.heads() % kv_heads == 0,
          fmt::format("k: its heads must divide the heads of q: {} does not divide {}", kv_heads,
                      problem.heads()));
  const Shape want_k = {problem.batch(), kv_heads, problem.k.dim(2), problem.head_dim()};
  require(problem.k.shape == want_k,
          fmt::format("k: want (batch, kv_heads, kv_len, head_dim) = {}, got {}",
                      shape_text(want_k), shape_text(problem.k.shape)));
  const Shape want_v = {problem.batch(), kv_heads, problem.k.dim(2), problem.v.dim(3)};
  require(problem.v.shape == want_v,
          fmt::format("v: want (batch, kv_heads, kv_len, value_dim) = {}, got {}",
                      shape_text(want_v), shape_text(problem.v.shape)));
}

void validate_mask(const AttentionProblem& problem) {
  if (!problem.mask) return;
  const Shape full = {problem.batch(), problem.heads(), problem.q_len(), problem.kv_len()};
  bool fits = problem.mask->rank() == 4;
  for (std::size_t axis = 0; fits && axis < 4; ++axis) {
    fits = problem.mask->shape[axis] == 1 || problem.mask->shape[axis] == full[axis];
  }
  require(fits, fmt::format("mask: want 4 axes, each 1 or as in (batch, heads, q_len, kv_len) = "
                            "{}, got {}",
                            shape_text(full), shape_text(problem.mask->shape)));
  if (problem.rules.mask_type != MaskType::kBool) return;
  // Numbers to be added to scores, read as a bool mask, would let every key be seen.
  for (const double value : problem.mask->values) {
    require(value == 0 || value == 1,
            fmt::format("mask: want 0 or 1 where mask_type is bool, got {}", value));
  }
}

void validate_starts(const char* name, const std::vector<Index>& starts, Index rows) {
  require(starts.size() >= 2 && starts.front() == 0 && starts.back() == rows &&
              std::is_sorted(starts.begin(), starts.end()),
          fmt::format("{}: want rising row numbers from 0 to {}", name, rows));
}

void validate_cut(const AttentionProblem& problem) {
  if (!problem.cut) return;
  const Cut& cut = *problem.cut;
  require_shape(cut.first_row >= 0 && cut.first_row <= cut.q_len - problem.q_len() &&
                    cut.first_key >= 0 && cut.first_key <= cut.kv_len - problem.kv_len(),
                "attention problem: a part lies outside of its whole");
}

void validate_lengths(const AttentionProblem& problem) {
  if (!problem.kv_lens.empty()) {
    require(static_cast<Index>(problem.kv_lens.size()) == problem.batch(),
            fmt::format("kv_lens: want one length for each of {} sequences, got {}",
                        problem.batch(), problem.kv_lens.size()));
    for (Index length : problem.kv_lens) {
      require(length >= 0 && length <= problem.whole_kv_len(),
              fmt::format("kv_lens: want 0 to {} keys, got {}", problem.whole_kv_len(), length));
    }
  }
  require(problem.cu_seqlens_q.size() == problem.cu_seqlens_k.size(),
          fmt::format("cu_seqlens_q, cu_seqlens_k: want the same number of entries, got {} and {}",
                      problem.cu_seqlens_q.size(), problem.cu_seqlens_k.size()));
  if (problem.cu_seqlens_q.empty()) return;
  validate_starts("cu_seqlens_q", problem.cu_seqlens_q, problem.whole_q_len());
  validate_starts("cu_seqlens_k", problem.cu_seqlens_k, problem.whole_kv_len());
}

void validate_per_head(const char* name, const std::vector<double>& values, Index heads) {
  if (values.empty()) return;
  require(
      static_cast<Index>(values.size()) == heads,
      fmt::format("{}: want one number for each of {} heads, got {}", name, heads, values.size()));
  for (double value : values) {
    require(!std::isnan(value) && value != std::numeric_limits<double>::infinity(),
            fmt::format("{}: want finite numbers, got {}", name, value));
  }
}

}  // namespace

double AttentionProblem::scale() const {
  return rules.scale ? *rules.scale : 1.0 / std::sqrt(static_cast<double>(head_dim()));
}

double AttentionProblem::mask_at(Index b, Index h, Index i, Index j) const {
  const Shape& extents = mask->shape;
  const Index at[4] = {b, h, i, j};
  Index offset = 0;
  for (std::size_t axis = 0; axis < 4; ++axis) {
    offset = offset * extents[axis] + (extents[axis] == 1 ? 0 : at[axis]);
  }
  return mask->data()[offset];
}

Sight sight_of(const AttentionProblem& problem, Index b, Index i) {
  const AttentionRules& rules = problem.rules;
  const Index row = i + (problem.cut ? problem.cut->first_row : 0);
  const Index length = problem.kv_lens.empty() ? problem.whole_kv_len()
                                               : problem.kv_lens[static_cast<std::size_t>(b)];
  Index first_query = 0;
  Index queries = problem.whole_q_len();
  Index first_key = 0;
  Index keys = length;
  if (!problem.cu_seqlens_q.empty()) {
    const std::vector<Index>& starts = problem.cu_seqlens_q;
    const auto next = std::upper_bound(starts.begin(), starts.end(), row) - starts.begin();
    const auto sequence = static_cast<std::size_t>(next - 1);
    first_query = starts[sequence];
    queries = starts[sequence + 1] - first_query;
    first_key = problem.cu_seqlens_k[sequence];
    keys = problem.cu_seqlens_k[sequence + 1] - first_key;
  }
  Index offset = 0;
  if (rules.causal_alignment == CausalAlignment::kBottomRight) offset = keys - queries;
  if (rules.causal_offset) offset = *rules.causal_offset;

  Sight sight;
  sight.position = first_key + (row - first_query) + offset;
  sight.first = first_key;
  sight.end = std::min(first_key + keys, length);
  if (rules.causal) sight.end = std::min(sight.end, sight.position + 1);
  if (rules.window_left >= 0) {
    sight.first = std::max(sight.first, sight.position - rules.window_left);
  }
  if (rules.window_right >= 0) {
    sight.end = std::min(sight.end, sight.position + rules.window_right + 1);
  }
  if (sight.end < sight.first) sight.first = sight.end = first_key;
  if (!problem.cut) return sight;
  const Index cut_at = problem.cut->first_key;
  sight.position -= cut_at;
  sight.first = std::clamp<Index>(sight.first - cut_at, 0, problem.kv_len());
  sight.end = std::clamp<Index>(sight.end - cut_at, sight.first, problem.kv_len());
  return sight;
}

bool mask_allows(const AttentionProblem& problem, Index b, Index h, Index i, Index j) {
  if (!problem.mask) return true;
  const double value = problem.mask_at(b, h, i, j);
  if (problem.rules.mask_type == MaskType::kBool) return value != 0;
  return value != -std::numeric_limits<double>::infinity();
}

bool may_see(const AttentionProblem& problem, Index b, Index h, Index i, Index j) {
  const Sight sight = sight_of(problem, b, i);
  return j >= sight.first && j < sight.end && mask_allows(problem, b, h, i, j);
}

void validate(const AttentionProblem& problem) {
  validate_tensors(problem);
  validate_mask(problem);
  validate_cut(problem);
  validate_lengths(problem);
  validate_per_head("alibi_slopes", problem.alibi_slopes, problem.heads());
  validate_per_head("sinks", problem.sinks, problem.heads());
  const AttentionRules& rules = problem.rules;
  require(!rules.scale || std::isfinite(*rules.scale),
          fmt::format("scale: want a finite number, got {}", rules.scale.value_or(0)));
  require(std::isfinite(rules.softcap) && rules.softcap >= 0,
          fmt::format("softcap: want 0 (off) or more, got {}", rules.softcap));
  require_near("causal_offset", rules.causal_offset.value_or(0));
  require_near("window_left", rules.window_left);
  require_near("window_right", rules.window_right);
}

}  // namespace attn
