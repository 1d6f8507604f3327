#pragma once

#include <span>
#include <vector>

#include "core/tensor.h"
#include "nn/pass.h"
#include "ops/attend.h"

namespace attn {

/// Sizes of a cache. Keys and values have kv_heads heads, whatever the number of query heads.
struct KvShape {
  Index layers = 1;
  Index batch = 1;
  Index capacity = 0;  // rows a sequence may grow to
  Index kv_heads = 1;
  Index head_dim = 0;
};

/// The remembered keys and values of one attention, contiguous: each sequence is one run of rows
/// (capacity, kv_heads * head_dim). Keys are stored as they are attended to: rotated.
template <class T>
class KvSlot {
 public:
  explicit KvSlot(const KvShape& shape);

  Index batch() const { return shape_.batch; }
  Index capacity() const { return shape_.capacity; }
  /// Rows in use of every sequence.
  Index length() const { return length_; }
  /// Forgets all rows from `length` on.
  void truncate(Index length);

  /// From now on sequence i is what sequence parents[i] was: some go on as several, others end.
  /// Each has rows of its own afterwards. Throws ShapeError for none and for a parent there is not.
  void fork(std::span<const Index> parents);

  /// Adds rows.seq_len rows to each sequence; k and v are (batch * seq_len, kv_heads * head_dim).
  /// Throws ShapeError when full or of another shape.
  void append(In<T> k, In<T> v, const Sequences& rows);

  /// The rows in use of one sequence.
  KvRun<T> run(Index sequence) const;

  /// Bytes that keys and values occupy: 2 * batch * capacity * kv_heads * head_dim * sizeof(T).
  Index bytes() const;

 private:
  KvShape shape_;
  Index length_ = 0;
  std::vector<T> keys_;  // (batch, capacity, kv_heads * head_dim)
  std::vector<T> values_;
};

/// A model's cache: one slot per layer, and one more per layer where there is cross-attention,
/// which holds the context's keys and values, projected once.
template <class T>
class KvCache {
 public:
  /// context_capacity: rows of the context, 0 without cross-attention. Throws UsageError for counts
  /// below 1 and for a size that leaves 63 bits.
  explicit KvCache(const KvShape& shape, Index context_capacity = 0);

  Index layers() const { return static_cast<Index>(self_.size()); }
  Index batch() const { return self_.front().batch(); }
  Index capacity() const { return self_.front().capacity(); }
  /// Rows remembered of every sequence.
  Index length() const { return self_.front().length(); }
  KvSlot<T>& self(Index layer) { return self_[static_cast<std::size_t>(layer)]; }
  const KvSlot<T>& self(Index layer) const { return self_[static_cast<std::size_t>(layer)]; }
  /// Null without cross-attention.
  KvSlot<T>* cross(Index layer);
  /// Forgets all rows from `length` on; the context stays unless length is 0.
  void truncate(Index length);

  /// From now on sequence i of every slot is what sequence parents[i] was. The one door through
  /// which sequences share what they have in common: beams and samples of one prefilled prompt.
  void fork(std::span<const Index> parents);

  /// 2 * layers * kv_heads * head_dim * capacity * batch * sizeof(T), and the context's share.
  Index bytes() const;

 private:
  std::vector<KvSlot<T>> self_;
  std::vector<KvSlot<T>> cross_;
};

}  // namespace attn
