#include "nn/rotary.h"

#include <algorithm>

namespace attn {

template <class T>
Rotary<T>::Rotary(Index head_dim, double base, RopePairs pairs, const RopeScaling& scaling)
    : head_dim_(head_dim),
      pairs_(pairs),
      frequencies_(rope_frequencies(head_dim, base, scaling, 0)),
      limit_(rope_scaling_limit(scaling)) {}

template <class T>
std::shared_ptr<const RopeTable<T>> Rotary<T>::table(Index positions) const {
  require_shape(!limit_ || positions <= *limit_,
                "rotary: a position at which the scaling turns all others differently");
  const std::lock_guard<std::mutex> lock(guard_);
  const Index have =
      table_ && table_->half > 0 ? static_cast<Index>(table_->cos.size()) / table_->half : 0;
  if (!table_ || have < positions) {
    constexpr Index kLeast = 64;
    const Index wanted = std::max({kLeast, positions, 2 * have});
    table_ = std::make_shared<const RopeTable<T>>(frequencies_, 0, wanted);
  }
  return table_;
}

template <class T>
void Rotary<T>::rotate(Index pos0, Matrix<T> x) const {
  rope_rotate<T>(*table(pos0 + x.rows()), pairs_, head_dim_, pos0, x);
}

template <class T>
void Rotary<T>::rotate_back(Index pos0, Matrix<T> x) const {
  rope_rotate_back<T>(*table(pos0 + x.rows()), pairs_, head_dim_, pos0, x);
}

template class Rotary<float>;
template class Rotary<double>;

}  // namespace attn
