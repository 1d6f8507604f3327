#include "ops/gemm_panels.h"

#include <algorithm>

#include "ops/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gemm_panels.cpp"
#include <hwy/foreach_target.h>

#include "ops/products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

// One panel of b: so many rows of as many columns as a register block has. It stays in the second
// cache while all rows of a pass by.
inline constexpr Index kPanelRows = 384;
template <class T>
constexpr Index kPanelCols = kVectors* Index{hn::MaxLanes(Tag<T>())};

// Rows of a that repay copying a panel.
inline constexpr Index kWorthCopying = 32;

template <class T>
void copy_rows(Matrix<const T> from, Matrix<T> to) {
  for (Index i = 0; i < from.rows(); ++i) std::copy_n(from.row(i), from.cols(), to.row(i));
}

template <class T>
void multiply_by_panels(const PanelProduct<T>& product, Matrix<T> c) {
  const Matrix<const T>& b = product.b;
  const Index k = product.b_turned ? b.cols() : b.rows();
  HWY_ALIGN T memory[static_cast<size_t>(kPanelRows * kPanelCols<T>)];
  // Rows far apart in memory push each other out of the first cache.
  const bool copied = product.b_turned || (b.stride() > kPanelCols<T> && c.rows() >= kWorthCopying);
  for (Index column = 0; column < c.cols(); column += kPanelCols<T>) {
    const Index cols = std::min(kPanelCols<T>, c.cols() - column);
    const Matrix<T> to = c.col_block(column, cols);
    for (Index l = 0; l < k; l += kPanelRows) {
      const Index rows = std::min(kPanelRows, k - l);
      Matrix<const T> panel;
      if (!copied) panel = b.row_block(l, rows).col_block(column, cols);
      if (copied) {
        const Matrix<T> copy(memory, rows, cols, kPanelCols<T>);
        if (product.b_turned) {
          turn_rows<T>(b.row_block(column, cols).col_block(l, rows), copy);
        } else {
          copy_rows<T>(b.row_block(l, rows).col_block(column, cols), copy);
        }
        panel = copy;
      }
      const Walk<T> a{product.a + l * product.a_step, product.a_row_step, product.a_step};
      Matrix<const T> start = to;
      if (l == 0) {
        start =
            product.start.data() == nullptr ? product.start : product.start.col_block(column, cols);
      }
      multiply_tile<T>(a, panel, {nullptr, nullptr}, start, to);
    }
  }
}

ATTNTOOLS_BOTH_TYPES(multiply_by_panels);

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn {
namespace {

ATTNTOOLS_EXPORT(multiply_by_panels);

}  // namespace

template <class T>
void multiply_panels(const PanelProduct<T>& product, Matrix<T> c) {
  ATTNTOOLS_DISPATCH(T, multiply_by_panels)(product, c);
}

template void multiply_panels<float>(const PanelProduct<float>&, Matrix<float>);
template void multiply_panels<double>(const PanelProduct<double>&, Matrix<double>);

}  // namespace attn
#endif  // HWY_ONCE
