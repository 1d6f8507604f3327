#include "ops/attend_queries.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ops/attend_kernels.h"
#include "ops/dispatch.h"
#include "ops/few_rows.h"
#include "ops/run_walk.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attend_queries.cpp"
#include <hwy/foreach_target.h>

#include "ops/attend_queries-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

// How many lanes work together, and how many are one vector.
template <class T>
void count_lanes(Index* lanes, Index* vector) {
  *vector = lanes_of<T>();
  *lanes = kVectors * *vector;
}

ATTNTOOLS_BOTH_TYPES(count_lanes);
ATTNTOOLS_BOTH_TYPES(begin_lanes);
ATTNTOOLS_BOTH_TYPES(lanes_of_tile);
ATTNTOOLS_BOTH_TYPES(finish_lanes);

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn {
namespace {

ATTNTOOLS_EXPORT(count_lanes);
ATTNTOOLS_EXPORT(begin_lanes);
ATTNTOOLS_EXPORT(lanes_of_tile);
ATTNTOOLS_EXPORT(finish_lanes);

// Scores of a tile stay in the first cache.
constexpr Index kLaneKeys = 128;

template <class T>
class LaneCall {
 public:
  LaneCall(const HeadShape& shape, In<T> q, std::span<const KvRun<T>> kv, const AttendMask<T>& mask,
           Matrix<T> out, const AttendProbe<T>& probe, Arena& arena)
      : shape_(shape), q_(q), kv_(kv), mask_(mask), out_(out), probe_(probe) {
    ATTNTOOLS_DISPATCH(T, count_lanes)(&lanes_, &vector_);
    for (const KvRun<T>& run : kv) kv_rows_ += run.k.rows();
    visible_ = arena.allocate<KeyRange>(lanes_);
    pieces_ = arena.allocate<KvRun<T>>(kLaneKeys);
    lse_ = arena.allocate<T>(lanes_);
    numbers_ = arena.allocate<T>((kLaneKeys + shape.head_dim + shape.value_dim + 6) * lanes_);
  }

  Index lanes() const { return lanes_; }

  // Rows of all heads, at most as many as there are lanes.
  void take(Index row, Index rows) {
    const RowBlock all{0, row, rows, false};
    visible_to_block(mask_, all, kv_rows_, visible_);
    const KeyRange seen{visible_[0].begin, visible_[rows - 1].end};
    LaneBlock<T> block = begin(rows);
    for (Index head = 0; head < shape_.heads; ++head) {
      const RowBlock mine{head, row, rows, false};
      const Index first = head * q_.rows() + row;  // of a probe
      block.kept = kept_scores(first, rows);
      ATTNTOOLS_DISPATCH(T, begin_lanes)
      (mine.of(Matrix<const T>(q_), shape_.head_dim), score_scale(mask_, shape_.head_dim),
       mask_.sinks != nullptr ? mask_.sinks[head] : kHidden, block);
      const bool wanted = probe_.lse != nullptr || probe_.weights != nullptr;
      RunWalk<T> runs(kv_);
      const Index step = tile_keys(seen.end - seen.begin, kLaneKeys);
      for (Index key0 = seen.begin; key0 < seen.end; key0 += step) {
        take_tile(key0, std::min(step, seen.end - key0), head, runs, block);
      }
      ATTNTOOLS_DISPATCH(T, finish_lanes)
      (block, mine.of(out_, shape_.value_dim), wanted ? lse_ : nullptr);
      if (probe_.lse != nullptr) std::copy_n(lse_, rows, probe_.lse + first);
      for (Index r = 0; probe_.weights != nullptr && r < rows; ++r) {
        weights_of_scores<T>(block.kept.row(r), kv_rows_, lse_[r],
                             probe_.weights + (first + r) * kv_rows_);
      }
    }
  }

 private:
  static constexpr T kHidden = -std::numeric_limits<T>::infinity();

  // Weights come from scores, and may lie where those do.
  Matrix<T> kept_scores(Index first, Index rows) const {
    T* const to = probe_.scores != nullptr ? probe_.scores : probe_.weights;
    if (to == nullptr) return {};
    std::fill_n(to + first * kv_rows_, rows * kv_rows_, kHidden);
    return {to + first * kv_rows_, rows, kv_rows_};
  }

  // What all heads share, and room for what they do not.
  LaneBlock<T> begin(Index rows) const {
    const Index width = (rows + vector_ - 1) / vector_ * vector_;
    T* at = numbers_;
    const auto next = [&at](Index count) { return std::exchange(at, at + count); };
    const auto table = [&](Index height) { return Matrix<T>(next(height * width), height, width); };
    T* const begins = next(width);
    T* const ends = next(width);
    // Lanes without a row come to something that nobody reads.
    std::fill_n(begins, 2 * width, T{0});
    for (Index r = 0; r < rows; ++r) {
      begins[r] = static_cast<T>(visible_[r].begin - visible_[0].begin);
      ends[r] = static_cast<T>(visible_[r].end - visible_[0].end);
    }
    return {.rows = rows,
            .visible = visible_,
            .begins = begins,
            .ends = ends,
            .q = table(shape_.head_dim),
            .scores = table(kLaneKeys),
            .out = table(shape_.value_dim),
            .kept = {},
            .rise = next(width),
            .largest = next(width),
            .shift = next(width),
            .total = next(width)};
  }

  void take_tile(Index key0, Index keys, Index head, RunWalk<T>& runs,
                 const LaneBlock<T>& block) const {
    const Index kv_head = head / shape_.group();
    const KeyRange all = in_tile({visible_[block.rows - 1].begin, visible_[0].end}, key0, keys);
    std::size_t pieces = 0;
    bool finite = true;
    runs.next(key0, keys, [&](Index at, const KvRun<T>& run) {
      const Matrix<const T> v = run.v.col_block(kv_head * shape_.value_dim, shape_.value_dim);
      pieces_[pieces++] = {run.k.col_block(kv_head * shape_.head_dim, shape_.head_dim), v};
      // Those before and behind what all rows see.
      const KeyRange seen = in_tile(all, at, v.rows());
      finite = finite && all_finite<T>(v.row_block(0, seen.begin)) &&
               all_finite<T>(v.row_block(seen.end, v.rows() - seen.end));
    });
    const LaneTile<T> tile{key0, keys, {pieces_, pieces}, !finite};
    ATTNTOOLS_DISPATCH(T, lanes_of_tile)(tile, block);
  }

  const HeadShape& shape_;
  In<T> q_;
  std::span<const KvRun<T>> kv_;
  const AttendMask<T>& mask_;
  Matrix<T> out_;
  const AttendProbe<T>& probe_;
  Index lanes_ = 0;
  Index vector_ = 0;
  Index kv_rows_ = 0;
  KeyRange* visible_;
  KvRun<T>* pieces_;
  T* numbers_;
  T* lse_;  // of a block
};

}  // namespace

template <class T>
bool fits_query_lanes(Index rows, const AttendMask<T>& mask) {
  return rows > kFewRows && mask.softcap == T{0} && mask.alibi_slopes == nullptr &&
         mask.bias.data == nullptr && mask.allowed.data == nullptr && !mask.dropout.on();
}

template <class T>
void attend_query_lanes(const HeadShape& shape, In<T> q, std::span<const KvRun<T>> kv,
                        const AttendMask<T>& mask, Matrix<T> out, const AttendProbe<T>& probe,
                        Arena& arena) {
  LaneCall<T> call(shape, q, kv, mask, out, probe, arena);
  // The first block, which of causal ones sees the fewest keys, is the one that may be short.
  for (Index row = 0; row < q.rows();) {
    const Index rows = (q.rows() - row - 1) % call.lanes() + 1;
    call.take(row, rows);
    row += rows;
  }
}

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type.
#define ATTNTOOLS_INSTANTIATE(T)                                                              \
  template bool fits_query_lanes<T>(Index, const AttendMask<T>&);                             \
  template void attend_query_lanes<T>(const HeadShape&, In<T>, std::span<const KvRun<T>>,     \
                                      const AttendMask<T>&, Matrix<T>, const AttendProbe<T>&, \
                                      Arena&)

// NOLINTEND(bugprone-macro-parentheses)

ATTNTOOLS_INSTANTIATE(float);
ATTNTOOLS_INSTANTIATE(double);

#undef ATTNTOOLS_INSTANTIATE

}  // namespace attn
#endif  // HWY_ONCE
