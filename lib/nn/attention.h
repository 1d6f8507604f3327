#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nn/kv_cache.h"
#include "nn/linear.h"
#include "nn/rotary.h"
#include "ops/attend_short.h"

namespace attn {

struct AttentionConfig {
  Index dim = 0;         // width of x, of the context and of the output
  Index heads = 1;       // query heads
  Index kv_heads = 1;    // divides heads
  Index head_dim = 0;    // heads * head_dim need not be dim
  bool bias = true;      // of q_proj, k_proj and v_proj
  bool out_bias = true;  // of out_proj
  bool causal = true;    // row i sees keys up to its own position; self-attention only
  Index window = 0;      // keys that a query sees with its own, causal only; 0: all
  bool cross = false;    // keys and values come from the context
  bool alibi = false;    // self-attention only
  double rope_base = 0;  // 0: no rotation; self-attention only
  RopePairs rope_pairs = RopePairs::kHalves;
  RopeScaling rope_scaling = {};
  Index residual_additions = 0;  // see InitRule: of out_proj
};

/// The other sequence of a cross-attention: one context per sequence of x.
template <class T>
struct Context {
  Matrix<const T> x;  // (batch * kv_len, dim)
  Sequences rows;     // key_mask hides padding
};

/// What backward needs of one attention.
template <class T>
struct AttentionTape {
  Matrix<const T> x, source;  // source: x itself or the context
  Sequences rows, source_rows;
  Matrix<const T> q, k, v;  // projected, q and k rotated
  Matrix<const T> mixed;    // out_proj's input
  const T* lse = nullptr;   // (batch, heads, q_len)
};

/// out_proj(softmax(q k^T / sqrt(head_dim)) v), the one attention: self or cross, with its keys in
/// this pass or in a cache, with or without a tape (Vaswani et al. 2017, arXiv:1706.03762; grouped
/// heads: Ainslie et al. 2023, arXiv:2305.13245). Query head h reads key-value head
/// h / (heads / kv_heads).
template <class T>
class Attention {
 public:
  /// Registers name.q_proj (heads * head_dim, dim), name.k_proj and name.v_proj
  /// (kv_heads * head_dim, dim), name.out_proj (dim, heads * head_dim). An empty name leaves the
  /// prefix out. Attentions of one model may share a Rotary; without one it makes its own.
  Attention(ParamStore<T>& store, const std::string& name, const AttentionConfig& config,
            std::shared_ptr<const Rotary<T>> rotary = nullptr);

  const AttentionConfig& config() const { return config_; }

  /// x (rows.batch * rows.seq_len, dim) -> the same shape. context is null in self-attention.
  /// With a slot, self-attention appends the rows' keys and values and sees all that the slot
  /// holds, a sequence's first row standing at position slot->length(sequence); cross-attention
  /// projects the context only when the slot is empty. tape may be null; a tape or dropout beside a
  /// slot is a ShapeError. Dropout hides attention weights; the residual's own is the block's.
  /// Of kLast the result is (rows.batch, dim): only the last rows ask, of all rows' keys; without
  /// tape, dropout or a probe.
  Matrix<T> forward(const Pass<T>& pass, In<T> x, const Sequences& rows, const Context<T>* context,
                    KvSlot<T>* slot, AttentionTape<T>* tape,
                    RowsWanted wanted = RowsWanted::kAll) const;

  /// What forward does of self-attention beside arithmetic: counts the rows that the key projection
  /// would multiply, and takes their room in the slot, if there is one.
  void count(KeyRowCounts& counts, const Sequences& rows, KvSlot<T>* slot) const;

  /// Adds to the parameters' gradients, to d_x (shape of x) and, in cross-attention, to d_context.
  void backward(const BackwardPass<T>& pass, const AttentionTape<T>& tape, In<T> d_y, Matrix<T> d_x,
                Matrix<T> d_context) const;

 private:
  AttendMask<T> mask(const Sequences& source_rows, Index sequence, Index offset,
                     const DropoutStream* dropout, Index first_row) const;
  /// What the queries of one sequence attend to.
  struct Keys {
    std::span<const KvRun<T>> runs;
    Index rows = 0;    // of all runs
    Index offset = 0;  // the first query's place among them
  };
  /// The call for many short sequences at once, where they are of its kind.
  std::optional<ShortAttention<T>> short_call(const Sequences& rows,
                                              const DropoutStream* dropout) const;
  void count_keys(KeyRowCounts& counts, const Sequences& source_rows) const {
    counts.add(name_, source_rows.seq_len);
  }
  void mix(const Pass<T>& pass, In<T> q, const Sequences& rows, const Sequences& source_rows,
           std::span<const Keys> keys, Matrix<T> mixed, T* lse) const;
  void mix_parts(const Pass<T>& pass, In<T> q, const Sequences& rows, const Sequences& source_rows,
                 std::span<const Keys> keys, Matrix<T> mixed, Index parts, int threads) const;

  std::string name_;
  AttentionConfig config_;
  HeadShape shape_;
  Linear<T> q_proj_, k_proj_, v_proj_, out_proj_;
  std::shared_ptr<const Rotary<T>> rotary_;
  std::vector<T> slopes_;
};

}  // namespace attn
