#include "ops/vector.h"

namespace attn {

template <class T>
void add(In<T> x, Matrix<T> y) {
  require_shape(x.rows() == y.rows() && x.cols() == y.cols(), "add: the shapes differ");
  for (Index i = 0; i < y.rows(); ++i) add(x.row(i), y.row(i), y.cols());
}

template <class T>
void sum(In<T> a, In<T> b, Matrix<T> y) {
  require_shape(
      a.rows() == y.rows() && a.cols() == y.cols() && b.rows() == y.rows() && b.cols() == y.cols(),
      "sum: the shapes differ");
  for (Index i = 0; i < y.rows(); ++i) {
    for (Index j = 0; j < y.cols(); ++j) y(i, j) = a(i, j) + b(i, j);
  }
}

template <class T>
void add_row(const std::type_identity_t<T>* row, Matrix<T> y) {
  for (Index i = 0; i < y.rows(); ++i) add(row, y.row(i), y.cols());
}

template <class T>
void add_column_sums(In<T> x, T* row) {
  for (Index i = 0; i < x.rows(); ++i) add(x.row(i), row, x.cols());
}

template <class T>
void add(const std::type_identity_t<T>* x, T* y, Index count) {
  for (Index i = 0; i < count; ++i) y[i] += x[i];
}

template <class T>
void scale(std::type_identity_t<T> factor, T* y, Index count) {
  for (Index i = 0; i < count; ++i) y[i] *= factor;
}

template <class T>
double sum_of_squares(const T* x, Index count) {
  double total = 0;
  for (Index i = 0; i < count; ++i) total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return total;
}

template void add<float>(In<float>, Matrix<float>);
template void add<double>(In<double>, Matrix<double>);
template void sum<float>(In<float>, In<float>, Matrix<float>);
template void sum<double>(In<double>, In<double>, Matrix<double>);
template void add_row<float>(const float*, Matrix<float>);
template void add_row<double>(const double*, Matrix<double>);
template void add_column_sums<float>(In<float>, float*);
template void add_column_sums<double>(In<double>, double*);
template void add<float>(const float*, float*, Index);
template void add<double>(const double*, double*, Index);
template void scale<float>(float, float*, Index);
template void scale<double>(double, double*, Index);
template double sum_of_squares<float>(const float*, Index);
template double sum_of_squares<double>(const double*, Index);

}  // namespace attn
