#include "nn/kv_pool.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "core/error.h"
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
      slot.require_written();
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

template class KvPool<float>;
template class KvPool<double>;

}  // namespace attn
