#pragma once

#include "core/matrix.h"

namespace attn {

/// y += x, element by element. Shapes must agree.
template <class T>
void add(In<T> x, Matrix<T> y);

/// y = a + b, element by element.
template <class T>
void sum(In<T> a, In<T> b, Matrix<T> y);

/// y *= x, element by element.
template <class T>
void multiply_each(In<T> x, Matrix<T> y);

/// Adds row (cols) to every row of y.
template <class T>
void add_row(const std::type_identity_t<T>* row, Matrix<T> y);

/// row (cols) += the sum of x's rows, first to last.
template <class T>
void add_column_sums(In<T> x, T* row);

/// y += x for flat buffers.
template <class T>
void add(const std::type_identity_t<T>* x, T* y, Index count);

/// y *= factor.
template <class T>
void scale(std::type_identity_t<T> factor, T* y, Index count);

/// Sum of a buffer's squares, in a fixed order, in double.
template <class T>
double sum_of_squares(const T* x, Index count);

}  // namespace attn
