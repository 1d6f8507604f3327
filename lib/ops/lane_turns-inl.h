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
      turn_lanes_in<T>(heads.of, i * x.stride() + c, to + i * size + c * lanes_of<T>(),
                       lanes_of<T>());
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
      turn_lanes_out<T>(from + i * size + c * lanes_of<T>(), heads.of, i * x.stride() + c);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#endif
