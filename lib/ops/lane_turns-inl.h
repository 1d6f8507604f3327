// Heads in lanes: how a group of heads is laid out, and brought in and out. Included once a target.
#if defined(ATTNTOOLS_OPS_LANE_TURNS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNTOOLS_OPS_LANE_TURNS_INL_H
#undef ATTNTOOLS_OPS_LANE_TURNS_INL_H
#else
#define ATTNTOOLS_OPS_LANE_TURNS_INL_H
#endif

#include <algorithm>
#include <type_traits>

#include "ops/products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

// One group: as many heads ("pairs" of a sequence and a head, in that order) as a vector has lanes.
// Number (i, d) of all of them is the vector at i * row_size(width) + d * lanes.
struct Group {
  Index first;
  Index pairs;
  Index heads;
  Index rows;  // of a sequence

  // Where a lane's head begins; lanes without a pair repeat the last.
  template <class T>
  HWY_INLINE T* begin(Matrix<T> x, Index lane, Index width) const {
    const Index pair = first + std::min(lane, pairs - 1);
    return x.row(pair / heads * rows) + pair % heads * width;
  }
};

// Of so many vectors, and one more, for rows a power of two apart push each other out of the first
// cache.
template <class T>
HWY_INLINE Index row_size(Index vectors) {
  return (vectors + 1) * lanes_of<T>();
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

// The vector whose blocks lie at heads[0], heads[kSide], heads[2 * kSide] ..., all of them `at`
// further on.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_blocks(D d, const T* const* heads, Index at) {
  if constexpr (hn::MaxLanes(d) == static_cast<size_t>(kSide<T>)) {
    return hn::LoadU(d, heads[0] + at);
  } else {
    const hn::Half<D> half;
    const auto upper = heads + hn::MaxLanes(half);
    return hn::Combine(d, load_blocks(half, upper, at), load_blocks(half, heads, at));
  }
}

template <class D, class T>
HWY_INLINE void store_blocks(D d, hn::Vec<D> v, T* const* heads, Index at) {
  if constexpr (hn::MaxLanes(d) == static_cast<size_t>(kSide<T>)) {
    hn::StoreU(v, d, heads[0] + at);
  } else {
    const hn::Half<D> half;
    store_blocks(half, hn::LowerHalf(half, v), heads, at);
    store_blocks(half, hn::UpperHalf(half, v), heads + hn::MaxLanes(half), at);
  }
}

// Columns c .. c + kSide - 1 of one row of all heads become vectors, `lanes` apart.
template <class T>
HWY_INLINE void turn_row_in(const T* const* heads, Index at, T* to) {
  const Tag<T> d;
  Squares<T> squares;
  for (Index k = 0; k < kSide<T>; ++k) squares.row[k] = load_blocks(d, heads + k, at);
  squares.turn();
  for (Index k = 0; k < kSide<T>; ++k) hn::StoreU(squares.row[k], d, to + k * lanes_of<T>());
}

template <class T>
HWY_INLINE void turn_row_out(const T* from, T* const* heads, Index at) {
  const Tag<T> d;
  Squares<T> squares;
  for (Index k = 0; k < kSide<T>; ++k) squares.row[k] = hn::LoadU(d, from + k * lanes_of<T>());
  squares.turn();
  for (Index k = 0; k < kSide<T>; ++k) store_blocks(d, squares.row[k], heads + k, at);
}

#else

// Columns c .. c + kSide - 1 of one row of all heads become vectors, `lanes` apart.
template <class T>
HWY_INLINE void turn_row_in(const T* const* heads, Index at, T* to) {
  const Index lanes = lanes_of<T>();
  for (Index lane = 0; lane < lanes; lane += kSide<T>) {
    SquareRows<const T> rows;
    for (Index l = 0; l < kSide<T>; ++l) rows.of[l] = heads[lane + l] + at;
    turn_square<T>(rows, square_rows(to + lane, lanes));
  }
}

template <class T>
HWY_INLINE void turn_row_out(const T* from, T* const* heads, Index at) {
  const Index lanes = lanes_of<T>();
  for (Index lane = 0; lane < lanes; lane += kSide<T>) {
    SquareRows<T> rows;
    for (Index l = 0; l < kSide<T>; ++l) rows.of[l] = heads[lane + l] + at;
    turn_square<T>(square_rows(from + lane, lanes), rows);
  }
}

#endif

// Where the heads of all lanes begin.
template <class T>
struct LaneHeads {
  T* of[hn::MaxLanes(Tag<std::remove_const_t<T>>())];

  HWY_INLINE LaneHeads(const Group& group, Matrix<T> x, Index width) {
    Index lane = 0;
    for (T*& head : of) head = group.begin(x, lane++, width);
  }
};

// Rows up to the next multiple of 4 become 0.
template <class T>
void turn_in(const Group& group, Matrix<const T> x, Index width, T* to) {
  const Index size = row_size<T>(width);
  std::fill(to + group.rows * size, to + (group.rows + 3) / 4 * 4 * size, T{0});
  const LaneHeads<const T> heads(group, x, width);
  for (Index i = 0; i < group.rows; ++i) {
    for (Index c = 0; c < width; c += kSide<T>) {
      turn_row_in<T>(heads.of, i * x.stride() + c, to + i * size + c * lanes_of<T>());
    }
  }
}

// Lanes without a pair hold what the last pair's does, and store it once more.
template <class T>
void turn_out(const Group& group, const T* from, Index width, Matrix<T> x) {
  const Index size = row_size<T>(width);
  const LaneHeads<T> heads(group, x, width);
  for (Index i = 0; i < group.rows; ++i) {
    for (Index c = 0; c < width; c += kSide<T>) {
      turn_row_out<T>(from + i * size + c * lanes_of<T>(), heads.of, i * x.stride() + c);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#endif
