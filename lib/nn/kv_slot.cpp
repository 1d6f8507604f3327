// The rows of one attention in the pages of its pool.

#include <fmt/core.h>

#include <algorithm>

#include "core/error.h"
#include "core/memory.h"
#include "core/text.h"
#include "nn/kv_pool.h"

namespace attn {

template <class T>
KvSlot<T>::KvSlot(KvPool<T>& pool, Index layer) : pool_(&pool) {
  const KvShape& shape = pool.shape();
  const bool native = shape.layout.only_layer && *shape.layout.only_layer != layer;
  const auto side = [&](KvType type) {
    if (native) type = KvType::kNative;
    return Side{type, kv_row_bytes<T>(type, shape.kv_heads, shape.head_dim), {}};
  };
  keys_ = side(shape.layout.k_type);
  values_ = side(shape.layout.v_type);
}

template <class T>
Index KvSlot<T>::batch() const {
  return static_cast<Index>(pool_->selected().size());
}

template <class T>
Index KvSlot<T>::length(Index row) const {
  return written_[static_cast<std::size_t>(pool_->selected_[static_cast<std::size_t>(row)])];
}

template <class T>
Index KvSlot<T>::length() const {
  require_shape(batch() >= 1, "cache: no sequence");
  for (Index row = 1; row < batch(); ++row) {
    require_shape(length(row) == length(0), "cache: sequences of unequal length");
  }
  return length(0);
}

template <class T>
Index KvSlot<T>::first(Index row) const {
  return pool_->table_.first(pool_->selected_[static_cast<std::size_t>(row)]);
}

// Takes memory for the slab that holds a page, when it is first written.
template <class T>
void KvSlot<T>::provide(Index page) {
  const auto slab = static_cast<std::size_t>(page / pool_->slab_pages_);
  for (Side* side : {&keys_, &values_}) {
    if (slab >= side->slabs.size()) side->slabs.resize(slab + 1);
    if (side->slabs[slab]) continue;
    // Uninitialised: only rows that were written are read, and what is untouched takes no memory.
    const Index rows = pool_->slab_pages_ * pool_->table_.page_size();
    const Index bytes = rows * side->row_bytes;
    try {
      side->slabs[slab].reset(
          static_cast<std::byte*>(allocate_lines(static_cast<std::size_t>(bytes))));
    } catch (const std::bad_alloc&) {
      const auto sides = static_cast<double>(2 * pool_->shape_.layers);
      refuse_memory(fmt::format("a cache of {} rows at a time", grouped(rows)),
                    sides * static_cast<double>(bytes));
    }
  }
}

template <class T>
std::byte* KvSlot<T>::page_of(const Side& side, Index page) const {
  // A decoded token asks for all pages of its sequence, and dividing takes longer than the rest.
  Index slab = 0;
  if (page >= pool_->slab_pages_) slab = page / pool_->slab_pages_;
  return side.slabs[static_cast<std::size_t>(slab)].get() +
         (page - slab * pool_->slab_pages_) * pool_->table_.page_size() * side.row_bytes;
}

template <class T>
void KvSlot<T>::take_room(const Sequences& rows) {
  counted_only_ = true;
  extend(rows);
}

template <class T>
void KvSlot<T>::require_written() const {
  require_shape(!counted_only_, "cache: its rows were counted and never written");
}

template <class T>
void KvSlot<T>::extend(const Sequences& rows) {
  require_shape(rows.batch == batch(), "cache: another number of sequences");
  // The first layer of a pass makes the room for all.
  const PageTable& table = pool_->table_;
  if (batch() > 0 && length(0) == table.length(pool_->selected_[0])) pool_->grow(rows.seq_len);
  for (const Index sequence : pool_->selected_) {
    Index& written = written_[static_cast<std::size_t>(sequence)];
    require_shape(written + rows.seq_len <= table.length(sequence),
                  "cache: rows that no layer before had");
    written += rows.seq_len;
  }
}

template <class T>
void KvSlot<T>::append(In<T> k, In<T> v, const Sequences& rows) {
  const Index width = pool_->width();
  require_shape(
      k.rows() == rows.rows() && v.rows() == rows.rows() && k.cols() == width && v.cols() == width,
      "cache: shape of the keys or values");
  extend(rows);
  const PageTable& table = pool_->table_;
  for (Index row = 0; row < rows.batch; ++row) {
    const Index sequence = pool_->selected_[static_cast<std::size_t>(row)];
    const Index first = length(row) - rows.seq_len - table.first(sequence);
    const std::span<const Index> pages = table.pages(sequence);
    for (Index i = 0; i < rows.seq_len; ++i) {
      const Index at = first + i;
      const Index id = pages[static_cast<std::size_t>(at / table.page_size())];
      const Index to = at % table.page_size();
      const Index from = row * rows.seq_len + i;
      provide(id);
      kv_encode<T>(keys_.type, k.row(from), width, page_of(keys_, id) + to * keys_.row_bytes);
      kv_encode<T>(values_.type, v.row(from), width, page_of(values_, id) + to * values_.row_bytes);
    }
  }
}

// All rows of a sequence that are kept, as one matrix.
template <class T>
Matrix<const T> KvSlot<T>::decoded(const Side& side, Index row, Arena& arena) const {
  const Index sequence = pool_->selected_[static_cast<std::size_t>(row)];
  const PageTable& table = pool_->table_;
  const Matrix<T> all = arena.matrix<T>(length(row) - table.first(sequence), pool_->width());
  for (Index i = 0; i < all.rows(); ++i) {
    const Index page = table.pages(sequence)[static_cast<std::size_t>(i / table.page_size())];
    kv_decode<T>(side.type, page_of(side, page) + i % table.page_size() * side.row_bytes,
                 all.cols(), all.row(i));
  }
  return all;
}

template <class T>
std::span<const KvRun<T>> KvSlot<T>::runs(Index row, Arena& arena) const {
  require_written();
  const Index sequence = pool_->selected_[static_cast<std::size_t>(row)];
  const PageTable& table = pool_->table_;
  const Index width = pool_->width();
  // What is native is read where it is.
  Matrix<const T> keys;
  Matrix<const T> values;
  if (keys_.type != KvType::kNative) keys = decoded(keys_, row, arena);
  if (values_.type != KvType::kNative) values = decoded(values_, row, arena);
  const auto rows_at = [&](const Side& side, Matrix<const T> all, Index page, Index done,
                           Index rows) -> Matrix<const T> {
    if (side.type != KvType::kNative) return all.row_block(done, rows);
    return {reinterpret_cast<const T*>(page_of(side, page)), rows, width};
  };
  const std::span<const Index> pages = table.pages(sequence);
  auto* const runs = arena.allocate<KvRun<T>>(static_cast<Index>(pages.size()));
  std::size_t count = 0;
  const Index kept = length(row) - table.first(sequence);
  const Index page_size = table.page_size();
  const Index* next_page = pages.data();
  for (Index done = 0; done < kept; done += page_size) {
    const Index page = *next_page++;
    const Index rows = std::min(kept - done, page_size);
    const Matrix<const T> k = rows_at(keys_, keys, page, done, rows);
    const Matrix<const T> v = rows_at(values_, values, page, done, rows);
    if (count > 0) {
      // Neighbours in memory are one run.
      KvRun<T>& last = runs[count - 1];
      if (last.k.data() + last.k.size() == k.data() && last.v.data() + last.v.size() == v.data()) {
        last = {{last.k.data(), last.k.rows() + rows, width},
                {last.v.data(), last.v.rows() + rows, width}};
        continue;
      }
    }
    runs[count++] = {k, v};
  }
  return {runs, count};
}

template class KvSlot<float>;
template class KvSlot<double>;

}  // namespace attn
