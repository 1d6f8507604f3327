#pragma once

#include <algorithm>
#include <cmath>

#include "ops/attend.h"

// What forward and backward attention share: which keys a row sees, how queries are cut into
// blocks of rows, and the shapes that must agree.

namespace attn {

/// Keys begin .. end - 1.
struct KeyRange {
  Index begin = 0;
  Index end = 0;

  bool empty() const { return begin >= end; }
};

/// The keys that the ranges of the mask (causal, windows, kv_len) let a row see. Inside it
/// `allowed` and a bias of minus infinity may hide more.
template <class T>
KeyRange visible_keys(const AttendMask<T>& mask, Index row, Index kv_rows) {
  const Index position = row + mask.offset;
  KeyRange range{0, kv_rows};
  if (mask.kv_len >= 0) range.end = std::min(range.end, mask.kv_len);
  if (mask.causal) range.end = std::min(range.end, position + 1);
  // A sum that leaves 63 bits is a window wider than any sequence.
  if (mask.window_right >= 0) {
    const auto end = checked_add(position + 1, mask.window_right);
    if (end) range.end = std::min(range.end, *end);
  }
  if (mask.window_left >= 0) {
    const auto first = checked_add(position, -mask.window_left);
    if (first) range.begin = std::max(range.begin, *first);
  }
  // What is empty is so at its end: neither bound falls from one row to the next.
  range.end = std::max<Index>(range.end, 0);
  range.begin = std::min(range.begin, range.end);
  return range;
}

/// mask.scale, or 1 / sqrt(head_dim) where it is 0.
template <class T>
T score_scale(const AttendMask<T>& mask, Index head_dim) {
  return mask.scale != T{0} ? mask.scale : T{1} / std::sqrt(static_cast<T>(head_dim));
}

/// Query rows that are worked on together against the same keys: either consecutive rows of one
/// head, or one row of all heads that share a key-value head (decoding reads keys once for them).
struct RowBlock {
  Index head = 0;  // of the first row
  Index row = 0;
  Index rows = 0;
  bool over_heads = false;

  Index head_of(Index r) const { return over_heads ? head + r : head; }
  Index row_of(Index r) const { return over_heads ? row : row + r; }
  /// Rows first .. first + count - 1 of the block.
  RowBlock part(Index first, Index count) const {
    return {head_of(first), row_of(first), count, over_heads};
  }
  /// These rows of a matrix whose heads are `width` columns each.
  template <class T>
  Matrix<T> of(Matrix<T> x, Index width) const {
    return {x.row(row) + head * width, rows, width, over_heads ? width : x.stride()};
  }
};

/// What each row sees becomes known; returns the keys that at least one of them sees.
/// Later rows see no earlier keys: begin and end never fall from one row to the next.
template <class T>
KeyRange visible_to_block(const AttendMask<T>& mask, const RowBlock& block, Index kv_rows,
                          KeyRange* visible) {
  for (Index r = 0; r < block.rows; ++r) {
    visible[r] = visible_keys(mask, block.row_of(r), kv_rows);
  }
  if (block.rows == 0) return {};
  return {visible[0].begin, visible[block.rows - 1].end};
}

/// The part of a range that lies in a tile of keys, counted from the tile's first key.
inline KeyRange in_tile(KeyRange visible, Index key0, Index keys) {
  const Index begin = std::clamp<Index>(visible.begin - key0, 0, keys);
  return {begin, std::clamp<Index>(visible.end - key0, begin, keys)};
}

/// The rows, among `rows`, that see at least one key of a tile.
inline KeyRange rows_that_see(const KeyRange* visible, Index rows, Index key0, Index keys) {
  Index begin = 0;
  Index end = rows;
  while (begin < end && visible[begin].end <= key0) ++begin;
  while (end > begin && visible[end - 1].begin >= key0 + keys) --end;
  return {begin, end};
}

/// How many keys a tile takes, so that `keys` are cut evenly into tiles of at most `most`.
inline Index tile_keys(Index keys, Index most) {
  const Index tiles = std::max<Index>(1, (keys + most - 1) / most);
  const Index even = (keys + tiles - 1) / tiles;
  return std::max<Index>(1, std::min(keys, (even + 15) / 16 * 16));
}

/// The next multiple of 16: kernels write whole vectors into scratch.
inline Index padded(Index count) {
  return (count + 15) / 16 * 16;
}

/// Throws ShapeError unless the heads divide and the matrices agree with them.
template <class T>
void check_attend(const HeadShape& shape, In<T> q, In<T> k, In<T> v, In<T> out) {
  require_shape(shape.heads >= 1 && shape.kv_heads >= 1 && shape.heads % shape.kv_heads == 0,
                "attend: kv_heads must divide heads");
  require_shape(shape.head_dim >= 1 && shape.value_dim >= 0,
                "attend: a head wants at least one feature");
  require_shape(q.cols() == shape.heads * shape.head_dim, "attend: q is not heads * head_dim wide");
  require_shape(k.cols() == shape.kv_heads * shape.head_dim,
                "attend: k is not kv_heads * head_dim wide");
  require_shape(v.cols() == shape.kv_heads * shape.value_dim,
                "attend: v is not kv_heads * value_dim wide");
  require_shape(k.rows() == v.rows(), "attend: k and v differ in rows");
  require_shape(out.rows() == q.rows() && out.cols() == shape.heads * shape.value_dim,
                "attend: out is not (q_len, heads * value_dim)");
}

}  // namespace attn
