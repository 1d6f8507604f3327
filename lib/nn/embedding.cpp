#include "nn/embedding.h"

#include <algorithm>

namespace attn {

template <class T>
Embedding<T>::Embedding(ParamStore<T>& store, const std::string& name, Index rows, Index dim)
    : weight_(store.add(name + ".weight", {rows, dim}, {Init::kNormal})) {}

template <class T>
Matrix<T> Embedding<T>::forward(const Pass<T>& pass, std::span<const Index> ids) const {
  const Matrix<const T> table = weight_.in(pass.values);
  Matrix<T> y = pass.arena().template matrix<T>(static_cast<Index>(ids.size()), table.cols());
  for (Index i = 0; i < y.rows(); ++i) {
    const Index id = ids[static_cast<std::size_t>(i)];
    require_shape(id >= 0 && id < table.rows(), "embedding: an id outside the table");
    std::copy_n(table.row(id), table.cols(), y.row(i));
  }
  return y;
}

template <class T>
void Embedding<T>::backward(const BackwardPass<T>& pass, std::span<const Index> ids,
                            In<T> d_y) const {
  const Matrix<T> d_table = weight_.in(pass.gradients);
  for (Index i = 0; i < d_y.rows(); ++i) {
    T* row = d_table.row(ids[static_cast<std::size_t>(i)]);
    const T* d_row = d_y.row(i);
    for (Index j = 0; j < d_y.cols(); ++j) row[j] += d_row[j];
  }
}

template class Embedding<float>;
template class Embedding<double>;

}  // namespace attn
