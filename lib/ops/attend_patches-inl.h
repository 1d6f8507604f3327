// A tile of attention cut into rectangles without hidden vectors, for attend_queries-inl.h.
// Included once a target.
#if defined(ATTNTOOLS_OPS_ATTEND_PATCHES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNTOOLS_OPS_ATTEND_PATCHES_INL_H
#undef ATTNTOOLS_OPS_ATTEND_PATCHES_INL_H
#else
#define ATTNTOOLS_OPS_ATTEND_PATCHES_INL_H
#endif

#include "ops/attend_queries.h"
#include "ops/products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

// Some keys of a tile, and neighbouring vectors of queries that all see something of them.
struct Patch {
  KeyRange keys;
  Index vector;
  Index vectors;
};

inline constexpr Index kMostPatches = 2 * kVectors + 1;

// What the rows see of a tile as a few patches, in the order of keys.
struct Patches {
  Patch of[static_cast<size_t>(kMostPatches)];
  Index count = 0;

  HWY_INLINE void add(const Patch& patch) { of[count++] = patch; }
};

// What some, or all, rows of a vector see of a tile.
template <class T>
HWY_INLINE KeyRange some_see(const LaneTile<T>& tile, const LaneBlock<T>& block, Index vector) {
  const Index first = vector * lanes_of<T>();
  const Index last = std::min(first + lanes_of<T>(), block.rows) - 1;
  return in_tile({block.visible[first].begin, block.visible[last].end}, tile.key0, tile.keys);
}
template <class T>
HWY_INLINE KeyRange all_see(const LaneTile<T>& tile, const LaneBlock<T>& block, Index vector) {
  const Index first = vector * lanes_of<T>();
  const Index last = std::min(first + lanes_of<T>(), block.rows) - 1;
  return in_tile({block.visible[last].begin, block.visible[first].end}, tile.key0, tile.keys);
}

// Later keys are seen by later queries.
template <class T>
HWY_INLINE Patches patches_of(const LaneTile<T>& tile, const LaneBlock<T>& block) {
  const Index vectors = block.q.cols() / lanes_of<T>();
  Patches patches;
  Index vector = 0;
  Index end = 0;
  for (Index j = 0; j < tile.keys;) {
    while (vector < vectors && some_see(tile, block, vector).end <= j) ++vector;
    while (end < vectors && some_see(tile, block, end).begin <= j) ++end;
    Index next = tile.keys;
    if (vector < end) next = std::min(next, some_see(tile, block, vector).end);
    if (end < vectors) next = std::min(next, some_see(tile, block, end).begin);
    if (vector < end) patches.add({{j, next}, vector, end - vector});
    j = next;
  }
  return patches;
}

// use(at, k, v) for the keys of a patch that lie side by side; `at` is the first's in the tile.
template <class T, class F>
HWY_INLINE void for_pieces(const LaneTile<T>& tile, KeyRange keys, const F& use) {
  Index at = 0;
  for (const KvRun<T>& piece : tile.pieces) {
    const Index rows = piece.k.rows();
    const KeyRange here = in_tile(keys, at, rows);
    if (!here.empty()) {
      const Index count = here.end - here.begin;
      use(at + here.begin, piece.k.row_block(here.begin, count),
          piece.v.row_block(here.begin, count));
    }
    at += rows;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#endif
