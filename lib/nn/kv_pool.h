#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/aligned.h"
#include "core/tensor.h"
#include "nn/kv_type.h"
#include "nn/page_table.h"
#include "nn/pass.h"
#include "ops/attend.h"

namespace attn {

/// Rows of a page where nobody says: whole tiles of the attention kernel, which is as fast then as
/// over one run.
inline constexpr Index kPageRows = 64;

/// How a cache's memory is cut, and how its numbers are stored. The context of a cross-attention is
/// contiguous and native whatever this says.
struct KvLayout {
  Index page_size =
      0;  // rows of a page; 0: contiguous, a sequence takes its whole capacity at once
  Index most_pages = 0;  // of the pool, whatever the layers; 0: no bound
  KvType k_type = KvType::kNative;
  KvType v_type = KvType::kNative;
  std::optional<Index> only_layer = {};  // the types are of this layer alone; unset: of all
  /// Keys that a query sees with its own, where the model says so: pages that hold only earlier
  /// rows are given back as the next pass begins. 0: all.
  Index window = 0;
};

/// Sizes of a cache. Keys and values have kv_heads heads, whatever the number of query heads.
struct KvShape {
  Index layers = 1;
  Index batch = 1;
  Index capacity = 0;  // rows a sequence may grow to
  Index kv_heads = 1;
  Index head_dim = 0;
  KvLayout layout = {};
};

template <class T>
class KvPool;

/// The remembered keys and values of one attention: a view of a cache's pages. Keys are stored as
/// they are attended to: rotated. "Row" i of a pass is the cache's sequence selected()[i].
template <class T>
class KvSlot {
 public:
  Index batch() const;
  /// Rows that this attention has written of a sequence.
  Index length(Index row) const;
  /// The same for all of the pass's sequences. Throws ShapeError where they differ.
  Index length() const;

  /// Adds rows.seq_len rows to each sequence; k and v are (batch * seq_len, kv_heads * head_dim).
  /// Throws ShapeError beyond the capacity or for another shape, DataError when the pool has no
  /// page left.
  void append(In<T> k, In<T> v, const Sequences& rows);
  /// Takes the room that append() takes, as it does, for rows that nobody will read: they are
  /// counted, and no memory is taken. From then on runs() of this attention, and a pass that would
  /// copy a page which its sequences share, throw ShapeError: there is nothing in it to read.
  void take_room(const Sequences& rows);

  /// The rows of one sequence in order, as few runs as their pages allow. They lie in `arena`,
  /// where rows of another type than the model's are decoded to.
  std::span<const KvRun<T>> runs(Index row, Arena& arena) const;
  /// The sequence's row that the first run begins with: rows before it were forgotten.
  Index first(Index row) const;

 private:
  friend class KvPool<T>;

  // The pages of keys or of values, page_size rows each, several neighbours in one slab.
  struct Side {
    KvType type;
    Index row_bytes;
    std::vector<LineBytes> slabs;
  };

  KvSlot(KvPool<T>& pool, Index layer);
  void extend(const Sequences& rows);
  void require_written() const;
  void provide(Index page);
  std::byte* page_of(const Side& side, Index page) const;
  Matrix<const T> decoded(const Side& side, Index row, Arena& arena) const;

  KvPool<T>* pool_;
  std::vector<Index> written_;  // rows of each sequence
  Side keys_, values_;
  bool counted_only_ = false;  // room was taken that nothing was written to
};

/// Pages of the same sequences in every layer: which page holds which rows is said once for all.
template <class T>
class KvPool {
 public:
  explicit KvPool(const KvShape& shape);
  KvPool(const KvPool&) = delete;
  KvPool& operator=(const KvPool&) = delete;

  const KvShape& shape() const { return shape_; }
  const PageTable& table() const { return table_; }
  KvSlot<T>& slot(Index layer) { return slots_[static_cast<std::size_t>(layer)]; }
  const KvSlot<T>& slot(Index layer) const { return slots_[static_cast<std::size_t>(layer)]; }
  std::span<const Index> selected() const { return selected_; }

  Index add();
  void remove(Index sequence);
  void fork(std::span<const Index> parents);
  void select(std::span<const Index> sequences);
  void truncate(Index length);
  void forget_before(Index sequence, Index row) { table_.forget_before(sequence, row); }

  /// Bytes of a row's keys and values in all layers.
  Index row_bytes() const;

 private:
  friend class KvSlot<T>;

  Index width() const { return shape_.kv_heads * shape_.head_dim; }
  void select_all();
  void grow(Index count);

  KvShape shape_;
  Index slab_pages_;
  PageTable table_;
  std::vector<KvSlot<T>> slots_;
  std::vector<Index> selected_;
};

}  // namespace attn
