#include "nn/kv_cache.h"

namespace attn {

template <class T>
KvCache<T>::KvCache(const KvShape& shape, Index context_capacity)
    : self_(std::make_unique<KvPool<T>>(shape)) {
  if (context_capacity == 0) return;
  KvShape context = shape;
  context.capacity = context_capacity;
  context.layout = {};  // written once, as a whole
  cross_ = std::make_unique<KvPool<T>>(context);
}

template <class T>
void KvCache<T>::truncate(Index length) {
  self_->truncate(length);
  if (length == 0 && cross_) cross_->truncate(0);
}

template <class T>
void KvCache<T>::fork(std::span<const Index> parents) {
  self_->fork(parents);
  if (cross_) cross_->fork(parents);
}

template <class T>
Index KvCache<T>::add() {
  if (cross_) cross_->add();
  return self_->add();
}

template <class T>
void KvCache<T>::remove(Index sequence) {
  self_->remove(sequence);
  if (cross_) cross_->remove(sequence);
}

template <class T>
void KvCache<T>::select(std::span<const Index> sequences) {
  self_->select(sequences);
  if (cross_) cross_->select(sequences);
}

namespace {

template <class T>
Index bytes_of_pages(const KvPool<T>& pool, Index pages) {
  return pages * pool.table().page_size() * pool.row_bytes();
}

}  // namespace

template <class T>
Index KvCache<T>::bytes() const {
  Index total = bytes_of_pages(*self_, self_->table().pages_in_use());
  if (cross_) total += bytes_of_pages(*cross_, cross_->table().pages_in_use());
  return total;
}

template <class T>
Index KvCache<T>::most_bytes() const {
  Index total = bytes_of_pages(*self_, self_->table().most_in_use());
  if (cross_) total += bytes_of_pages(*cross_, cross_->table().most_in_use());
  return total;
}

template <class T>
Index KvCache<T>::bytes_of_rows() const {
  Index total = self_->table().rows_in_use() * self_->row_bytes();
  if (cross_) total += cross_->table().rows_in_use() * cross_->row_bytes();
  return total;
}

template class KvCache<float>;
template class KvCache<double>;

}  // namespace attn
