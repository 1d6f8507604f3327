// Scores with queries as lanes, patch by patch, for attend_queries-inl.h.
// Included once a target.
#if defined(ATTNTOOLS_OPS_QUERY_SCORES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNTOOLS_OPS_QUERY_SCORES_INL_H
#undef ATTNTOOLS_OPS_QUERY_SCORES_INL_H
#else
#define ATTNTOOLS_OPS_QUERY_SCORES_INL_H
#endif

#include "ops/attend_patches-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

// Which lanes of a vector see a key.
template <class T>
class LaneSight {
 public:
  HWY_INLINE LaneSight(const LaneBlock<T>& block, Index lane)
      : begins_(hn::LoadU(Tag<T>(), block.begins + lane)),
        ends_(hn::LoadU(Tag<T>(), block.ends + lane)),
        first_(block.visible[0]),
        rows_(block.rows) {}

  HWY_INLINE hn::Mask<Tag<T>> of(Index key) const {
    const Tag<T> d;
    // begins and ends are small, and these at most as large: exact in any T.
    const auto from_begin = hn::Set(d, static_cast<T>(std::min(key - first_.begin, rows_)));
    const auto from_end = hn::Set(d, static_cast<T>(std::max<Index>(key - first_.end, -1)));
    return hn::And(hn::Le(begins_, from_begin), hn::Lt(from_end, ends_));
  }

 private:
  hn::Vec<Tag<T>> begins_;
  hn::Vec<Tag<T>> ends_;
  KeyRange first_;
  Index rows_;
};

// Scores of a vector's queries for keys that they do not see become minus infinity. Returns the
// largest, or `least`.
template <class T>
HWY_INLINE hn::Vec<Tag<T>> hide_keys(const LaneTile<T>& tile, const LaneBlock<T>& block,
                                     KeyRange keys, Index vector, hn::Vec<Tag<T>> least) {
  const Tag<T> d;
  const Index lane = vector * lanes_of<T>();
  const LaneSight<T> sight(block, lane);
  const auto hidden = hn::Set(d, -std::numeric_limits<T>::infinity());
  auto largest = least;
  for (Index j = keys.begin; j < keys.end; ++j) {
    T* const at = block.scores.row(j) + lane;
    // By replacement, for a hidden key's product may be NaN.
    const auto score = hn::IfThenElse(sight.of(tile.key0 + j), hn::LoadU(d, at), hidden);
    hn::StoreU(score, d, at);
    largest = hn::Max(largest, score);
  }
  return largest;
}

// Scores of as many neighbouring keys as fit registers, for a patch's queries.
template <int kKeys, int kCount, class T>
HWY_INLINE void scores_of_keys(const T* k, Index k_stride, Matrix<const T> q, T* s, Index s_stride,
                               T* largest) {
  const Tag<T> d;
  const Index lanes = lanes_of<T>();
  Sums<kKeys, kCount, T> sums;
  sums.clear();
  RowPointers<kKeys, T> keys(k, k_stride);
  const T* queries = q.data();
  for (Index c = 0; c < q.rows(); ++c) {
    hn::Vec<Tag<T>> row[static_cast<size_t>(kCount)];
    for (int v = 0; v < kCount; ++v) row[v] = hn::LoadU(d, queries + v * lanes);
    for (int i = 0; i < kKeys; ++i) {
      const auto by = hn::Set(d, *keys.of(i, k_stride));
      for (int v = 0; v < kCount; ++v) sums.of[i][v] = hn::MulAdd(by, row[v], sums.of[i][v]);
    }
    keys.advance(1);
    queries += q.stride();
  }
  for (int v = 0; v < kCount; ++v) {
    auto rise = hn::LoadU(d, largest + v * lanes);
    for (int i = 0; i < kKeys; ++i) {
      rise = hn::Max(rise, sums.of[i][v]);
      hn::StoreU(sums.of[i][v], d, s + i * s_stride + v * lanes);
    }
    hn::StoreU(rise, d, largest + v * lanes);
  }
}

// The same of the keys from `row` on, as far as whole groups go; returns where they end.
template <int kKeys, int kCount, class T>
HWY_INLINE Index scores_of_groups(Matrix<const T> k, Index row, Matrix<const T> q, Matrix<T> s,
                                  T* largest) {
  for (; row + kKeys <= k.rows(); row += kKeys) {
    scores_of_keys<kKeys, kCount>(k.row(row), k.stride(), q, s.row(row), s.stride(), largest);
  }
  return row;
}

template <int kCount, class T>
void scores_of_piece(Matrix<const T> k, Matrix<const T> q, Matrix<T> s, T* largest) {
  Index row = 0;
  if constexpr (kCount == 1)
    row = scores_of_groups<kRowsOfOneVector, kCount>(k, row, q, s, largest);
  row = scores_of_groups<kRows, kCount>(k, row, q, s, largest);
  row = scores_of_groups<4, kCount>(k, row, q, s, largest);
  row = scores_of_groups<2, kCount>(k, row, q, s, largest);
  scores_of_groups<1, kCount>(k, row, q, s, largest);
}

template <int kCount, class T>
void scores_of_patch(const LaneTile<T>& tile, const LaneBlock<T>& block, const Patch& patch) {
  const Tag<T> d;
  const Index lanes = lanes_of<T>();
  const Index width = kCount * lanes;
  const Index lane = patch.vector * lanes;
  T* const rise = block.rise + lane;
  hn::Vec<Tag<T>> before[static_cast<size_t>(kCount)];
  for (int v = 0; v < kCount; ++v) before[v] = hn::LoadU(d, rise + v * lanes);
  for_pieces(tile, patch.keys, [&](Index at, Matrix<const T> k, Matrix<const T>) HWY_ATTR {
    scores_of_piece<kCount, T>(k, block.q.col_block(lane, width),
                               block.scores.row_block(at, k.rows()).col_block(lane, width), rise);
  });
  for (int v = 0; v < kCount; ++v) {
    const KeyRange all = all_see(tile, block, patch.vector + v);
    if (all.begin <= patch.keys.begin && all.end >= patch.keys.end) continue;
    hn::StoreU(hide_keys<T>(tile, block, patch.keys, patch.vector + v, before[v]), d,
               rise + v * lanes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#endif
