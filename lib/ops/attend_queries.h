#pragma once

#include "ops/attend_block.h"

namespace attn {

/// Whether attend_query_lanes takes these: rows that repay it, and a mask of ranges alone.
template <class T>
bool fits_query_lanes(Index rows, const AttendMask<T>& mask);

/// attend with queries as the lanes of vectors, and scores key by key. A row of weights would wait
/// for its largest and its sum across lanes, and in the mix of a narrow head each of them would be
/// loaded for one product alone. Here these run along the lanes, and neither keys nor values are
/// turned, only queries and what comes out.
template <class T>
void attend_query_lanes(const HeadShape& shape, In<T> q, std::span<const KvRun<T>> kv,
                        const AttendMask<T>& mask, Matrix<T> out, const AttendProbe<T>& probe,
                        Arena& arena);

// What the kernels work on.

/// Some keys and values of one key-value head, which may lie in several pieces.
template <class T>
struct LaneTile {
  Index key0 = 0;
  Index keys = 0;
  std::span<const KvRun<T>> pieces;
  bool skip_hidden = false;  // some value is not finite, and some row does not see it
};

/// Some rows of one head, one a lane, and what they have come to.
template <class T>
struct LaneBlock {
  Index rows = 0;
  const KeyRange* visible = nullptr;  // (rows)
  const T* begins = nullptr;          // (lanes) visible's, counted from that of the first row
  const T* ends = nullptr;            // (lanes)
  Matrix<T> q;                        // (head_dim, lanes)
  Matrix<T> scores;                   // (keys, lanes)
  Matrix<T> out;                      // (value_dim, lanes)
  Matrix<T> kept;                     // (rows, all keys) for final scores, or nothing
  T* rise = nullptr;                  // (lanes) a tile's largest score
  T* largest = nullptr;               // (lanes) so far
  T* shift = nullptr;                 // (lanes) that, or 0 where nothing was seen
  T* total = nullptr;                 // (lanes) the sum so far, in units of exp(shift)
};

}  // namespace attn
