// Rows become columns. Included once a target.
#if defined(ATTNTOOLS_OPS_TURN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNTOOLS_OPS_TURN_INL_H
#undef ATTNTOOLS_OPS_TURN_INL_H
#else
#define ATTNTOOLS_OPS_TURN_INL_H
#endif

#include "ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

// The side of the squares that turn through registers of 128 bits.
#if HWY_TARGET == HWY_SCALAR
template <class T>
inline constexpr Index kSide = 1;
#else
template <class T>
inline constexpr Index kSide = 16 / static_cast<Index>(sizeof(T));
#endif

// Where the rows of a square begin.
template <class T>
struct SquareRows {
  T* of[static_cast<size_t>(kSide<T>)];

  HWY_INLINE SquareRows right(Index columns) const {
    SquareRows moved = *this;
    for (auto& row : moved.of) row += columns;
    return moved;
  }
};

template <class T>
HWY_INLINE SquareRows<T> square_rows(T* first, Index step) {
  SquareRows<T> rows;
  for (Index i = 0; i < kSide<T>; ++i) rows.of[i] = first + i * step;
  return rows;
}

// Element c of row r becomes element r of row c.
template <class T>
HWY_INLINE void turn_square(const SquareRows<const T>& from, const SquareRows<T>& to) {
#if HWY_TARGET == HWY_SCALAR
  *to.of[0] = *from.of[0];
#else
  const hn::FixedTag<T, static_cast<size_t>(kSide<T>)> d;
  const auto r0 = hn::LoadU(d, from.of[0]);
  const auto r1 = hn::LoadU(d, from.of[1]);
  if constexpr (kSide<T> == 2) {
    hn::StoreU(hn::InterleaveLower(d, r0, r1), d, to.of[0]);
    hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, to.of[1]);
  } else {
    const auto r2 = hn::LoadU(d, from.of[2]);
    const auto r3 = hn::LoadU(d, from.of[3]);
    const auto low01 = hn::InterleaveLower(d, r0, r1);
    const auto low23 = hn::InterleaveLower(d, r2, r3);
    const auto high01 = hn::InterleaveUpper(d, r0, r1);
    const auto high23 = hn::InterleaveUpper(d, r2, r3);
    hn::StoreU(hn::ConcatLowerLower(d, low23, low01), d, to.of[0]);
    hn::StoreU(hn::ConcatUpperUpper(d, low23, low01), d, to.of[1]);
    hn::StoreU(hn::ConcatLowerLower(d, high23, high01), d, to.of[2]);
    hn::StoreU(hn::ConcatUpperUpper(d, high23, high01), d, to.of[3]);
  }
#endif
}

// What squares leave over goes by single elements.
template <class T>
void turn_rows(Matrix<const T> x, Matrix<T> turned) {
  Index j = 0;
  for (; j + kSide<T> <= x.rows(); j += kSide<T>) {
    Index c = 0;
    for (; c + kSide<T> <= x.cols(); c += kSide<T>) {
      turn_square<T>(square_rows(x.row(j) + c, x.stride()),
                     square_rows(turned.row(c) + j, turned.stride()));
    }
    for (; c < x.cols(); ++c) {
      for (Index i = j; i < j + kSide<T>; ++i) turned(c, i) = x(i, c);
    }
  }
  for (; j < x.rows(); ++j) {
    for (Index c = 0; c < x.cols(); ++c) turned(c, j) = x(j, c);
  }
  for (Index c = 0; c < x.cols(); ++c) {
    std::fill(turned.row(c) + x.rows(), turned.row(c) + turned.cols(), T{0});
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#endif
