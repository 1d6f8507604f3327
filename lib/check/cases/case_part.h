#pragma once

#include <optional>
#include <vector>

#include "check/cases/attention_case.h"

namespace attn {

/// A part of a case: some sequences, some key-value heads with the query heads that read them, a
/// run of rows and the run of keys that they need.
struct CasePart {
  Index batch = 0, batches = 0;
  Index kv_head = 0, kv_heads = 0;
  Index row = 0, rows = 0;
  Index key = 0, keys = 0;

  Index end_row() const { return row + rows; }
  /// Where (batch, head, row) of the part starts in the whole; maps of a part have all keys.
  std::vector<Index> origin(const AttentionProblem& whole) const {
    return {batch, kv_head * (whole.heads() / whole.kv_heads()), row, 0};
  }
};

/// A case that is handed out in parts, so that it need not fit into memory.
class PartedCase {
 public:
  PartedCase() = default;
  PartedCase(const PartedCase&) = delete;
  PartedCase& operator=(const PartedCase&) = delete;
  virtual ~PartedCase() = default;

  /// Shapes, rules, lengths and other short tables; of tensors that stay where they are only the
  /// shape, without values.
  virtual const AttentionCase& outline() const = 0;
  /// A part with its numbers, as a case of its own whose problem is cut (attention_problem.h).
  virtual AttentionCase part(const CasePart& part) const = 0;
  /// The whole, where it is in memory.
  virtual const AttentionCase* whole() const { return nullptr; }
};

/// A case in memory. It must outlive this.
class CaseInMemory : public PartedCase {
 public:
  explicit CaseInMemory(const AttentionCase& recorded) : recorded_(recorded) {}
  const AttentionCase& outline() const override { return recorded_; }
  AttentionCase part(const CasePart& part) const override;
  const AttentionCase* whole() const override { return &recorded_; }

 private:
  const AttentionCase& recorded_;
};

/// All that is there.
CasePart whole_of(const AttentionProblem& problem);

/// The keys that rows row .. row + rows - 1 of one sequence may see together, apart from a mask.
CasePart with_keys_in_sight(const AttentionProblem& outline, CasePart part);

/// Numbers that a part has room for in memory while it is checked, in bytes.
double bytes_to_check(const AttentionCase& outline, const CasePart& part, bool maps);

/// The whole as one part where it fits into `most_bytes`, else one sequence and key-value head at a
/// time, with as many rows as fit (some at least, and all where a permutation needs them). With
/// `maps` or recorded ones each part has all keys.
std::vector<CasePart> plan_parts(const AttentionCase& outline, bool maps, double most_bytes);

/// Copies a box out of a tensor of four axes: extents[axis] elements from first[axis] on.
Tensor<double> box_of(const Tensor<double>& whole, const Shape& first, const Shape& extents);

/// Where a part's mask stands in the whole's: an axis of extent 1 holds for all.
struct MaskPart {
  Shape first, extents;
};
MaskPart mask_part(const Tensor<double>& mask, const CasePart& part, Index group);

/// A part of (batch, heads, q_len) numbers; none of none.
std::optional<Tensor<double>> lse_part(const std::optional<Tensor<double>>& lse,
                                       const CasePart& part, Index group);

/// What of the outline's short tables and rules belongs to a part; its tensors are empty.
AttentionCase rules_of_part(const AttentionCase& outline, const CasePart& part);

}  // namespace attn
