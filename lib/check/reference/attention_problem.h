#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "check/reference/key_pages.h"
#include "core/dtype.h"
#include "core/tensor.h"

namespace attn {

/// Which corner the causal diagonal starts from where there are not as many queries as keys: the
/// first query sees the first key (top left), or the last query sees the last (bottom right).
enum class CausalAlignment { kTopLeft, kBottomRight };

/// What a mask's numbers mean: not 0 may attend, or a term that is added to the score.
enum class MaskType { kBool, kAdditive };

/// What a row that may see no key at all is expected to give.
enum class FullyMasked { kZero, kNan };

/// The rules that an attention claims to follow; the defaults are plain attention.
struct AttentionRules {
  DType dtype = DType::kF32;    // the arithmetic of whoever is checked
  bool tf32 = false;            // float32 whose products take 10 bits of each number (TF32)
  std::optional<double> scale;  // none: 1 / sqrt(head_dim)
  bool causal = false;
  CausalAlignment causal_alignment = CausalAlignment::kTopLeft;
  std::optional<Index> causal_offset;  // key that the first query stands at, instead of a corner
  Index window_left = -1;              // keys before the query's own that are seen; -1: all
  Index window_right = -1;             // keys after it that are seen; -1: all
  double softcap = 0;                  // 0: none
  MaskType mask_type = MaskType::kBool;
  FullyMasked fully_masked = FullyMasked::kZero;
};

/// Where a part stands in the attention it was cut from: its rows are first_row, first_row + 1, ...
/// of q_len, its keys first_key ... of kv_len. Lengths and packing keep counting in the whole's
/// rows and keys, so that the rules of a part are those of the whole.
struct Cut {
  Index first_row = 0;
  Index q_len = 0;  // of the whole
  Index first_key = 0;
  Index kv_len = 0;  // of the whole
  Index first_sequence = 0;
  Index first_kv_head = 0;
};

/// Queries, keys and values with the rules they meet under. Query head h reads key-value head
/// h / (heads / kv_heads).
struct AttentionProblem {
  Tensor<double> q;  // (batch, heads, q_len, head_dim)
  Tensor<double> k;  // (batch, kv_heads, kv_len, head_dim)
  Tensor<double> v;  // (batch, kv_heads, kv_len, value_dim)
  AttentionRules rules;
  std::optional<Tensor<double>> mask;     // 4 axes, each 1 or as in (batch, heads, q_len, kv_len)
  std::vector<Index> kv_lens;             // (batch): later keys are padding; empty: all count
  std::vector<Index> cu_seqlens_q;        // starts of packed sequences and the end; empty: one
  std::vector<Index> cu_seqlens_k;        // likewise on the axis of keys
  std::vector<double> alibi_slopes;       // (heads) or empty
  std::vector<double> sinks;              // (heads) or empty
  std::optional<Cut> cut;                 // none: this is the whole
  std::shared_ptr<const KeyPages> pages;  // that k and v were gathered from; null: none

  Index batch() const { return q.dim(0); }
  Index heads() const { return q.dim(1); }
  Index q_len() const { return q.dim(2); }
  Index head_dim() const { return q.dim(3); }
  Index kv_heads() const { return k.dim(1); }
  Index kv_len() const { return k.dim(2); }
  Index value_dim() const { return v.dim(3); }
  /// Of the whole, where this is a part.
  Index whole_q_len() const { return cut ? cut->q_len : q_len(); }
  Index whole_kv_len() const { return cut ? cut->kv_len : kv_len(); }
  Index kv_head_of(Index head) const { return head / (heads() / kv_heads()); }
  double scale() const;

  const double* q_row(Index b, Index h, Index i) const {
    return q.data() + ((b * heads() + h) * q_len() + i) * head_dim();
  }
  const double* k_row(Index b, Index kv_head, Index j) const {
    return k.data() + ((b * kv_heads() + kv_head) * kv_len() + j) * head_dim();
  }
  const double* v_row(Index b, Index kv_head, Index j) const {
    return v.data() + ((b * kv_heads() + kv_head) * kv_len() + j) * value_dim();
  }
  /// The mask's number for a query and a key, spread over the axes where it has extent 1.
  double mask_at(Index b, Index h, Index i, Index j) const;
};

/// The run of keys that causality, window, lengths and packing leave to a query, and the key that
/// the query itself stands at (it may lie outside of the keys). Counted in the keys at hand.
struct Sight {
  Index position = 0;
  Index first = 0;
  Index end = 0;  // one after the last
};

/// p = i + offset; offset is 0 (top left), the keys less the queries (bottom right) or what
/// causal_offset says, inside the query's own packed sequence.
Sight sight_of(const AttentionProblem& problem, Index b, Index i);

/// True where the mask lets query i see key j: a boolean mask is not 0, an additive one is not
/// minus infinity.
bool mask_allows(const AttentionProblem& problem, Index b, Index h, Index i, Index j);

/// True where sight and mask let query i see key j.
bool may_see(const AttentionProblem& problem, Index b, Index h, Index i, Index j);

/// Throws DataError, which names the tensor, unless shapes, lengths and rules fit together.
void validate(const AttentionProblem& problem);

}  // namespace attn
