#pragma once

#include <type_traits>

#include "core/error.h"
#include "core/index.h"

namespace attn {

/// A borrowed window on row-major memory: rows x cols, with a row stride. Copying it copies no
/// numbers. Heads are column slices of one matrix, so splitting and merging them is free.
template <class T>
class Matrix {
 public:
  Matrix() = default;
  Matrix(T* data, Index rows, Index cols) : Matrix(data, rows, cols, cols) {}
  Matrix(T* data, Index rows, Index cols, Index stride)
      : data_(data), rows_(rows), cols_(cols), stride_(stride) {}

  /// A mutable view reads as a const one.
  operator Matrix<const T>() const requires(!std::is_const_v<T>) {
    return {data_, rows_, cols_, stride_};
  }

  T* data() const { return data_; }
  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  /// Elements from the start of one row to the start of the next.
  Index stride() const { return stride_; }
  Index size() const { return rows_ * cols_; }
  bool empty() const { return rows_ == 0 || cols_ == 0; }
  bool contiguous() const { return stride_ == cols_ || rows_ <= 1; }

  T* row(Index i) const { return data_ + i * stride_; }
  T& operator()(Index i, Index j) const { return data_[i * stride_ + j]; }

  /// Rows first .. first + count - 1.
  Matrix row_block(Index first, Index count) const {
    return {data_ + first * stride_, count, cols_, stride_};
  }
  /// Columns first .. first + count - 1.
  Matrix col_block(Index first, Index count) const {
    return {data_ + first, rows_, count, stride_};
  }

 private:
  T* data_ = nullptr;
  Index rows_ = 0;
  Index cols_ = 0;
  Index stride_ = 0;
};

/// A matrix that is only read. The type is not deduced from it, so that float and const float
/// views mix in one call: T comes from the output.
template <class T>
using In = Matrix<const std::type_identity_t<T>>;

}  // namespace attn
