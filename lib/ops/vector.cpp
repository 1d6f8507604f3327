#include "ops/vector.h"

#include <algorithm>

#include "ops/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/vector.cpp"
#include <hwy/foreach_target.h>

#include "ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

template <class T>
void add_rows(Matrix<const T> x, Matrix<T> y) {
  for (Index i = 0; i < y.rows(); ++i) {
    transform<T>(
        y.cols(), y.row(i), [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); }, y.row(i),
        x.row(i));
  }
}

// row += the sum of x's rows, a few vectors of columns at a time, which stay in registers.
template <class T>
void add_sums_of_columns(Matrix<const T> x, T* row) {
  const Index lanes = lanes_of<T>();
  Index j = 0;
  for (; j + 4 * lanes <= x.cols(); j += 4 * lanes) {
    const Tag<T> d;
    auto s0 = hn::LoadU(d, row + j), s1 = hn::LoadU(d, row + j + lanes);
    auto s2 = hn::LoadU(d, row + j + 2 * lanes), s3 = hn::LoadU(d, row + j + 3 * lanes);
    for (Index i = 0; i < x.rows(); ++i) {
      const T* at = x.row(i) + j;
      s0 = hn::Add(s0, hn::LoadU(d, at));
      s1 = hn::Add(s1, hn::LoadU(d, at + lanes));
      s2 = hn::Add(s2, hn::LoadU(d, at + 2 * lanes));
      s3 = hn::Add(s3, hn::LoadU(d, at + 3 * lanes));
    }
    hn::StoreU(s0, d, row + j);
    hn::StoreU(s1, d, row + j + lanes);
    hn::StoreU(s2, d, row + j + 2 * lanes);
    hn::StoreU(s3, d, row + j + 3 * lanes);
  }
  for (; j < x.cols(); j += lanes) {
    const Index rest = std::min(lanes, x.cols() - j);
    auto sum = load<false>(row + j, rest);
    for (Index i = 0; i < x.rows(); ++i) sum = hn::Add(sum, load<false>(x.row(i) + j, rest));
    store<false>(sum, row + j, rest);
  }
}

template <class T>
void sum_rows(Matrix<const T> a, Matrix<const T> b, Matrix<T> y) {
  for (Index i = 0; i < y.rows(); ++i) {
    transform<T>(
        y.cols(), y.row(i), [](auto u, auto v) HWY_ATTR { return hn::Add(u, v); }, a.row(i),
        b.row(i));
  }
}

template <class T>
void multiply_rows_each(Matrix<const T> x, Matrix<T> y) {
  for (Index i = 0; i < y.rows(); ++i) {
    transform<T>(
        y.cols(), y.row(i), [](auto a, auto b) HWY_ATTR { return hn::Mul(a, b); }, y.row(i),
        x.row(i));
  }
}

template <class T>
void scale_all(T factor, T* y, Index count) {
  const auto by = hn::Set(Tag<T>(), factor);
  transform<T>(
      count, y, [=](auto v) HWY_ATTR { return hn::Mul(v, by); }, y);
}

template <class T>
double squares(const T* x, Index count) {
  const Tag<double> d;
  const hn::Rebind<T, decltype(d)> narrow;
  const Index lanes = lanes_of<double>();
  const auto widened = [=](const T* from) HWY_ATTR {
    if constexpr (std::is_same_v<T, double>) {
      return hn::LoadU(d, from);
    } else {
      return hn::PromoteTo(d, hn::LoadU(narrow, from));
    }
  };
  auto even = hn::Zero(d);
  auto odd = hn::Zero(d);
  Index i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto a = widened(x + i);
    const auto b = widened(x + i + lanes);
    even = hn::MulAdd(a, a, even);
    odd = hn::MulAdd(b, b, odd);
  }
  double total = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
  for (; i < count; ++i) total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return total;
}

ATTNTOOLS_BOTH_TYPES(add_rows);
ATTNTOOLS_BOTH_TYPES(add_sums_of_columns);
ATTNTOOLS_BOTH_TYPES(sum_rows);
ATTNTOOLS_BOTH_TYPES(multiply_rows_each);
ATTNTOOLS_BOTH_TYPES(scale_all);
ATTNTOOLS_BOTH_TYPES(squares);

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn {
namespace {

ATTNTOOLS_EXPORT(add_rows);
ATTNTOOLS_EXPORT(add_sums_of_columns);
ATTNTOOLS_EXPORT(sum_rows);
ATTNTOOLS_EXPORT(multiply_rows_each);
ATTNTOOLS_EXPORT(scale_all);
ATTNTOOLS_EXPORT(squares);

}  // namespace

template <class T>
void add(In<T> x, Matrix<T> y) {
  require_shape(x.rows() == y.rows() && x.cols() == y.cols(), "add: the shapes differ");
  ATTNTOOLS_DISPATCH(T, add_rows)(x, y);
}

template <class T>
void sum(In<T> a, In<T> b, Matrix<T> y) {
  require_shape(
      a.rows() == y.rows() && a.cols() == y.cols() && b.rows() == y.rows() && b.cols() == y.cols(),
      "sum: the shapes differ");
  ATTNTOOLS_DISPATCH(T, sum_rows)(a, b, y);
}

template <class T>
void multiply_each(In<T> x, Matrix<T> y) {
  require_shape(x.rows() == y.rows() && x.cols() == y.cols(), "multiply_each: the shapes differ");
  ATTNTOOLS_DISPATCH(T, multiply_rows_each)(x, y);
}

// A row stride of 0 is one row again and again.
template <class T>
void add_row(const std::type_identity_t<T>* row, Matrix<T> y) {
  ATTNTOOLS_DISPATCH(T, add_rows)(Matrix<const T>(row, y.rows(), y.cols(), 0), y);
}

template <class T>
void add_column_sums(In<T> x, T* row) {
  ATTNTOOLS_DISPATCH(T, add_sums_of_columns)(x, row);
}

template <class T>
void add(const std::type_identity_t<T>* x, T* y, Index count) {
  ATTNTOOLS_DISPATCH(T, add_rows)(Matrix<const T>(x, 1, count), Matrix<T>(y, 1, count));
}

template <class T>
void scale(std::type_identity_t<T> factor, T* y, Index count) {
  ATTNTOOLS_DISPATCH(T, scale_all)(factor, y, count);
}

template <class T>
double sum_of_squares(const T* x, Index count) {
  return ATTNTOOLS_DISPATCH(T, squares)(x, count);
}

template void add<float>(In<float>, Matrix<float>);
template void add<double>(In<double>, Matrix<double>);
template void sum<float>(In<float>, In<float>, Matrix<float>);
template void sum<double>(In<double>, In<double>, Matrix<double>);
template void multiply_each<float>(In<float>, Matrix<float>);
template void multiply_each<double>(In<double>, Matrix<double>);
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
#endif  // HWY_ONCE
