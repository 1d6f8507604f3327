#pragma once

#include <span>
#include <string>

#include "nn/param_store.h"
#include "nn/pass.h"

namespace attn {

/// A table of rows looked up by index, as torch.nn.Embedding. Starts standard normal.
template <class T>
class Embedding {
 public:
  /// Registers name.weight (rows, dim).
  Embedding(ParamStore<T>& store, const std::string& name, Index rows, Index dim);

  Index rows() const { return weight_.rows; }
  Param weight() const { return weight_; }

  /// Row ids[i] becomes row i: (ids, dim). Throws ShapeError for an id outside 0 .. rows - 1.
  Matrix<T> forward(const Pass<T>& pass, std::span<const Index> ids) const;

  /// Adds row i of d_y to the gradient of row ids[i].
  void backward(const BackwardPass<T>& pass, std::span<const Index> ids, In<T> d_y) const;

 private:
  Param weight_;
};

}  // namespace attn
