#include "nn/kv_cache.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/error.h"

namespace attn {
namespace {

// Numbers in one slot's keys; throws where memory could not even be counted.
Index slot_numbers(const KvShape& shape) {
  const std::array<Index, 4> extents = {shape.batch, shape.capacity, shape.kv_heads,
                                        shape.head_dim};
  for (const Index extent : extents) {
    if (extent < 1) {
      throw UsageError(fmt::format("a cache needs counts of at least 1: got {}", extent));
    }
  }
  const auto numbers = checked_product(extents);
  // Both arrays of every layer, in bytes, have to fit too.
  const auto bytes = numbers ? checked_mul(*numbers, 2 * 8) : std::nullopt;
  if (!bytes || !checked_mul(*bytes, std::max<Index>(shape.layers, 1))) {
    throw UsageError(
        fmt::format("the cache of {} tokens is larger than any memory", shape.capacity));
  }
  return *numbers;
}

}  // namespace

template <class T>
KvSlot<T>::KvSlot(const KvShape& shape)
    : shape_(shape), keys_(static_cast<std::size_t>(slot_numbers(shape))), values_(keys_.size()) {}

template <class T>
void KvSlot<T>::truncate(Index length) {
  require_shape(length >= 0 && length <= length_, "cache: truncate beyond its length");
  length_ = length;
}

template <class T>
void KvSlot<T>::fork(std::span<const Index> parents) {
  require_shape(!parents.empty(), "cache: a fork into no sequence");
  bool same = static_cast<Index>(parents.size()) == shape_.batch;
  for (std::size_t i = 0; i < parents.size(); ++i) {
    require_shape(parents[i] >= 0 && parents[i] < shape_.batch, "cache: a fork of no sequence");
    same = same && parents[i] == static_cast<Index>(i);
  }
  if (same) return;
  KvShape forked = shape_;
  forked.batch = static_cast<Index>(parents.size());
  std::vector<T> keys(static_cast<std::size_t>(slot_numbers(forked)));
  std::vector<T> values(keys.size());
  const Index each = shape_.capacity * shape_.kv_heads * shape_.head_dim;
  const Index used = length_ * shape_.kv_heads * shape_.head_dim;
  Index to = 0;
  for (const Index parent : parents) {
    std::copy_n(keys_.data() + parent * each, used, keys.data() + to);
    std::copy_n(values_.data() + parent * each, used, values.data() + to);
    to += each;
  }
  shape_ = forked;
  keys_ = std::move(keys);
  values_ = std::move(values);
}

template <class T>
void KvSlot<T>::append(In<T> k, In<T> v, const Sequences& rows) {
  const Index width = shape_.kv_heads * shape_.head_dim;
  require_shape(rows.batch == shape_.batch, "cache: another number of sequences");
  require_shape(
      k.rows() == rows.rows() && v.rows() == rows.rows() && k.cols() == width && v.cols() == width,
      "cache: shape of the keys or values");
  require_shape(length_ + rows.seq_len <= shape_.capacity, "cache: full");
  for (Index sequence = 0; sequence < rows.batch; ++sequence) {
    for (Index i = 0; i < rows.seq_len; ++i) {
      const Index to = (sequence * shape_.capacity + length_ + i) * width;
      const Index from = sequence * rows.seq_len + i;
      std::copy_n(k.row(from), width, keys_.data() + to);
      std::copy_n(v.row(from), width, values_.data() + to);
    }
  }
  length_ += rows.seq_len;
}

template <class T>
KvRun<T> KvSlot<T>::run(Index sequence) const {
  const Index width = shape_.kv_heads * shape_.head_dim;
  const Index first = sequence * shape_.capacity * width;
  return {{keys_.data() + first, length_, width}, {values_.data() + first, length_, width}};
}

template <class T>
Index KvSlot<T>::bytes() const {
  return static_cast<Index>((keys_.size() + values_.size()) * sizeof(T));
}

template <class T>
KvCache<T>::KvCache(const KvShape& shape, Index context_capacity) {
  if (shape.layers < 1) {
    throw UsageError(fmt::format("a cache needs at least 1 layer: got {}", shape.layers));
  }
  KvShape context = shape;
  context.capacity = context_capacity;
  for (Index layer = 0; layer < shape.layers; ++layer) {
    self_.emplace_back(shape);
    if (context_capacity != 0) cross_.emplace_back(context);
  }
}

template <class T>
KvSlot<T>* KvCache<T>::cross(Index layer) {
  return cross_.empty() ? nullptr : &cross_[static_cast<std::size_t>(layer)];
}

template <class T>
void KvCache<T>::truncate(Index length) {
  for (KvSlot<T>& slot : self_) slot.truncate(length);
  if (length == 0) {
    for (KvSlot<T>& slot : cross_) slot.truncate(0);
  }
}

template <class T>
void KvCache<T>::fork(std::span<const Index> parents) {
  for (KvSlot<T>& slot : self_) slot.fork(parents);
  for (KvSlot<T>& slot : cross_) slot.fork(parents);
}

template <class T>
Index KvCache<T>::bytes() const {
  Index total = 0;
  for (const KvSlot<T>& slot : self_) total += slot.bytes();
  for (const KvSlot<T>& slot : cross_) total += slot.bytes();
  return total;
}

template class KvSlot<float>;
template class KvSlot<double>;
template class KvCache<float>;
template class KvCache<double>;

}  // namespace attn
