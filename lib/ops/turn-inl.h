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

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL

// As many vectors as a square has rows, which turn its blocks of 128 bits, each by itself.
template <class T>
struct Squares {
  hn::Vec<Tag<T>> row[static_cast<size_t>(kSide<T>)];

  HWY_INLINE void turn() {
    const Tag<T> d;
    const hn::Repartition<double, Tag<T>> pairs;
    const auto low = hn::InterleaveLower(d, row[0], row[1]);
    const auto high = hn::InterleaveUpper(d, row[0], row[1]);
    if constexpr (kSide<T> == 2) {
      row[0] = low;
      row[1] = high;
    } else {
      const auto cast = [=](auto v) HWY_ATTR { return hn::BitCast(pairs, v); };
      const auto low01 = cast(low), low23 = cast(hn::InterleaveLower(d, row[2], row[3]));
      const auto high01 = cast(high), high23 = cast(hn::InterleaveUpper(d, row[2], row[3]));
      row[0] = hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23));
      row[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23));
      row[2] = hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23));
      row[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23));
    }
  }
};

// The vector whose blocks lie at rows[0], rows[kSide], rows[2 * kSide] ..., all of them `at`
// further on.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_blocks(D d, const T* const* rows, Index at) {
  if constexpr (hn::MaxLanes(d) == static_cast<size_t>(kSide<T>)) {
    return hn::LoadU(d, rows[0] + at);
  } else {
    const hn::Half<D> half;
    const auto upper = rows + hn::MaxLanes(half);
    return hn::Combine(d, load_blocks(half, upper, at), load_blocks(half, rows, at));
  }
}

template <class D, class T>
HWY_INLINE void store_blocks(D d, hn::Vec<D> v, T* const* rows, Index at) {
  if constexpr (hn::MaxLanes(d) == static_cast<size_t>(kSide<T>)) {
    hn::StoreU(v, d, rows[0] + at);
  } else {
    const hn::Half<D> half;
    store_blocks(half, hn::LowerHalf(half, v), rows, at);
    store_blocks(half, hn::UpperHalf(half, v), rows + hn::MaxLanes(half), at);
  }
}

// Elements at .. at + kSide - 1 of as many rows as a vector has lanes become vectors, `step` apart.
template <class T>
HWY_INLINE void turn_lanes_in(const T* const* rows, Index at, T* to, Index step) {
  const Tag<T> d;
  Squares<T> squares;
  for (Index k = 0; k < kSide<T>; ++k) squares.row[k] = load_blocks(d, rows + k, at);
  squares.turn();
  for (Index k = 0; k < kSide<T>; ++k) hn::StoreU(squares.row[k], d, to + k * step);
}

// Vectors that lie side by side become elements at .. at + kSide - 1 of so many rows.
template <class T>
HWY_INLINE void turn_lanes_out(const T* from, T* const* rows, Index at) {
  const Tag<T> d;
  Squares<T> squares;
  for (Index k = 0; k < kSide<T>; ++k) squares.row[k] = hn::LoadU(d, from + k * lanes_of<T>());
  squares.turn();
  for (Index k = 0; k < kSide<T>; ++k) store_blocks(d, squares.row[k], rows + k, at);
}

#else

// Elements at .. at + kSide - 1 of as many rows as a vector has lanes become vectors, `step` apart.
template <class T>
HWY_INLINE void turn_lanes_in(const T* const* rows, Index at, T* to, Index step) {
  for (Index lane = 0; lane < lanes_of<T>(); lane += kSide<T>) {
    SquareRows<const T> square;
    for (Index l = 0; l < kSide<T>; ++l) square.of[l] = rows[lane + l] + at;
    turn_square<T>(square, square_rows(to + lane, step));
  }
}

// Vectors that lie side by side become elements at .. at + kSide - 1 of so many rows.
template <class T>
HWY_INLINE void turn_lanes_out(const T* from, T* const* rows, Index at) {
  const Index lanes = lanes_of<T>();
  for (Index lane = 0; lane < lanes; lane += kSide<T>) {
    SquareRows<T> square;
    for (Index l = 0; l < kSide<T>; ++l) square.of[l] = rows[lane + l] + at;
    turn_square<T>(square_rows(from + lane, lanes), square);
  }
}

#endif

// What whole vectors and squares leave over goes by single elements. As many rows at a time as a
// vector has lanes are also as many streams from memory, where weights lie.
template <class T>
void turn_rows(Matrix<const T> x, Matrix<T> turned) {
  const Index lanes = lanes_of<T>();
  const Index whole_cols = x.cols() / kSide<T> * kSide<T>;
  Index j = 0;
  for (; j + lanes <= x.rows(); j += lanes) {
    const T* rows[hn::MaxLanes(Tag<T>())];
    for (Index i = 0; i < lanes; ++i) rows[i] = x.row(j + i);
    for (Index c = 0; c < whole_cols; c += kSide<T>) {
      turn_lanes_in<T>(rows, c, turned.row(c) + j, turned.stride());
    }
  }
  for (; j + kSide<T> <= x.rows(); j += kSide<T>) {
    for (Index c = 0; c < whole_cols; c += kSide<T>) {
      turn_square<T>(square_rows(x.row(j) + c, x.stride()),
                     square_rows(turned.row(c) + j, turned.stride()));
    }
  }
  for (Index c = 0; c < x.cols(); ++c) {
    for (Index i = c < whole_cols ? j : 0; i < x.rows(); ++i) turned(c, i) = x(i, c);
  }
  for (Index c = 0; c < x.cols(); ++c) {
    std::fill(turned.row(c) + x.rows(), turned.row(c) + turned.cols(), T{0});
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#endif
