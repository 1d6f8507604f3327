#pragma once

#include <memory>
#include <span>

#include "nn/kv_pool.h"

namespace attn {

/// A model's cache: one slot per layer, and one more per layer where there is cross-attention,
/// which holds the context's keys and values, projected once.
template <class T>
class KvCache {
 public:
  /// shape.batch sequences, all empty. context_capacity: rows of the context, 0 without
  /// cross-attention. Throws UsageError for counts below 1 and for a size that leaves 63 bits.
  explicit KvCache(const KvShape& shape, Index context_capacity = 0);

  Index layers() const { return self_->shape().layers; }
  /// Sequences of the next pass.
  Index batch() const { return static_cast<Index>(self_->selected().size()); }
  Index capacity() const { return self_->shape().capacity; }
  /// Rows remembered of the sequence that is row `row` of the next pass.
  Index length(Index row) const { return self_->slot(0).length(row); }
  /// Of each of them; throws ShapeError where they differ.
  Index length() const { return self_->slot(0).length(); }
  KvSlot<T>& self(Index layer) { return self_->slot(layer); }
  const KvSlot<T>& self(Index layer) const { return self_->slot(layer); }
  /// Null without cross-attention.
  KvSlot<T>* cross(Index layer) { return cross_ ? &cross_->slot(layer) : nullptr; }

  /// Forgets all rows from `length` on, of every sequence that has more; the context stays unless
  /// length is 0.
  void truncate(Index length);
  /// Forgets all rows, but not the context.
  void forget_rows() { self_->truncate(0); }
  /// From now on sequence i is what sequence parents[i] was, and all are selected. What two have in
  /// common is kept once until one of them writes.
  void fork(std::span<const Index> parents);

  // Serving: sequences of unequal length come and go, and some at a time go through the model.

  /// All sequences, numbered from 0.
  Index sequences() const { return self_->table().sequences(); }
  /// A new, empty sequence behind the others; all are selected then.
  Index add();
  /// Gives a sequence's pages back; later ones move up, and all are selected then.
  void remove(Index sequence);
  /// The next passes are of these sequences, in this order.
  void select(std::span<const Index> sequences);
  /// A window has left the rows before `row` behind: their pages are given back.
  void forget_before(Index sequence, Index row) { self_->forget_before(sequence, row); }

  /// Bytes of one row's keys and values in all layers, without the context's.
  Index row_bytes() const { return self_->row_bytes(); }
  /// Bytes of the pages that sequences hold, 2 * layers * kv_heads * head_dim numbers a row, and
  /// the context's share.
  Index bytes() const;
  /// The most that bytes() ever was.
  Index most_bytes() const;
  /// Bytes of the rows that were written and not forgotten, one that several share counted once.
  Index bytes_of_rows() const;

 private:
  std::unique_ptr<KvPool<T>> self_, cross_;
};

}  // namespace attn
