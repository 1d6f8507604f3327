#include "nn/kv_pool.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "core/memory.h"
#include "core/text.h"

namespace attn {
namespace {

// Pages of one slab hold about so many rows, so that a sequence alone is few runs.
constexpr Index kSlabRows = 1024;

// Throws where memory could not even be counted.
KvShape checked(KvShape shape) {
  for (const Index extent :
       {shape.layers, shape.batch, shape.capacity, shape.kv_heads, shape.head_dim}) {
    if (extent < 1) {
      throw UsageError(fmt::format("a cache needs counts of at least 1: got {}", extent));
    }
  }
  require_shape(shape.layout.page_size >= 0 && shape.layout.most_pages >= 0,
                "cache: sizes of pages below 0");
  if (shape.layout.page_size == 0) shape.layout.page_size = shape.capacity;
  // A last page may reach beyond the capacity.
  const auto rows = checked_add(shape.capacity, shape.layout.page_size);
  const std::array<Index, 5> extents = {shape.batch, rows.value_or(-1), shape.kv_heads,
                                        shape.head_dim, shape.layers};
  const auto numbers = rows ? checked_product(extents) : std::nullopt;
  if (!numbers || !checked_mul(*numbers, 2 * 8)) {
    throw UsageError(
        fmt::format("a cache of {} in pages of {} rows is larger than any memory",
                    shape.capacity == 1 ? "1 token" : grouped(shape.capacity) + " tokens",
                    grouped(shape.layout.page_size)));
  }
  return shape;
}

}  // namespace

template <class T>
KvPool<T>::KvPool(const KvShape& shape)
    : shape_(checked(shape)),
      slab_pages_(std::max<Index>(1, kSlabRows / shape_.layout.page_size)),
      table_(shape_.layout.page_size, shape_.layout.most_pages) {
  for (Index layer = 0; layer < shape_.layers; ++layer) slots_.push_back(KvSlot<T>(*this, layer));
  for (Index i = 0; i < shape_.batch; ++i) add();
}

template <class T>
Index KvPool<T>::add() {
  const Index sequence = table_.add();
  // What is contiguous is taken at once, as others reserve it.
  if (table_.page_size() >= shape_.capacity) table_.reserve(sequence, shape_.capacity);
  for (KvSlot<T>& slot : slots_) slot.written_.push_back(0);
  select_all();
  return sequence;
}

template <class T>
void KvPool<T>::remove(Index sequence) {
  table_.remove(sequence);
  for (KvSlot<T>& slot : slots_) slot.written_.erase(slot.written_.begin() + sequence);
  select_all();
}

template <class T>
void KvPool<T>::fork(std::span<const Index> parents) {
  require_shape(!parents.empty(), "cache: a fork into no sequence");
  table_.fork(parents);
  for (KvSlot<T>& slot : slots_) {
    std::vector<Index> written;
    for (const Index parent : parents) {
      written.push_back(slot.written_[static_cast<std::size_t>(parent)]);
    }
    slot.written_ = std::move(written);
  }
  select_all();
}

template <class T>
void KvPool<T>::select(std::span<const Index> sequences) {
  for (const Index sequence : sequences) {
    require_shape(sequence >= 0 && sequence < table_.sequences(), "cache: no such sequence");
    require_shape(std::count(sequences.begin(), sequences.end(), sequence) == 1,
                  "cache: a sequence twice in a pass");
  }
  selected_.assign(sequences.begin(), sequences.end());
}

template <class T>
void KvPool<T>::select_all() {
  selected_.resize(static_cast<std::size_t>(table_.sequences()));
  std::iota(selected_.begin(), selected_.end(), Index{0});
}

template <class T>
void KvPool<T>::truncate(Index length) {
  for (Index i = 0; i < table_.sequences(); ++i) {
    if (table_.length(i) > length) table_.truncate(i, length);
    for (KvSlot<T>& slot : slots_) {
      Index& written = slot.written_[static_cast<std::size_t>(i)];
      written = std::min(written, length);
    }
  }
}

// Makes room for rows of the selected sequences, in all layers, or throws and changes nothing.
template <class T>
void KvPool<T>::grow(Index count) {
  Index pages = 0;
  for (const Index sequence : selected_) {
    // All layers have seen the last pass: its next query sees no earlier row than this.
    const Index window = shape_.layout.window;
    if (window > 0) table_.forget_before(sequence, table_.length(sequence) - window + 1);
    require_shape(table_.length(sequence) + count <= shape_.capacity, "cache: full");
    pages += table_.pages_to_extend(sequence, count);
  }
  table_.require_free(pages);
  std::vector<PageCopy> copies;
  for (const Index sequence : selected_) table_.extend(sequence, count, copies);
  for (const PageCopy& copy : copies) {
    for (KvSlot<T>& slot : slots_) {
      slot.provide(copy.to);
      for (const auto* side : {&slot.keys_, &slot.values_}) {
        std::copy_n(slot.page_of(*side, copy.from), copy.rows * side->row_bytes,
                    slot.page_of(*side, copy.to));
      }
    }
  }
}

template <class T>
Index KvPool<T>::row_bytes() const {
  Index bytes = 0;
  for (const KvSlot<T>& slot : slots_) bytes += slot.keys_.row_bytes + slot.values_.row_bytes;
  return bytes;
}

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
  take_room(rows);
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
template class KvPool<float>;
template class KvPool<double>;

}  // namespace attn
