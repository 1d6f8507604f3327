#include "ops/attend.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/attend_kernels.h"
#include "ops/attend_queries.h"
#include "ops/decode_kernels.h"
#include "ops/few_rows.h"
#include "ops/run_walk.h"

// One head at a time, keys in tiles, queries in blocks of rows: products of a tile, its softmax
// with a running maximum and sum for each row, its mix. Decoding, which has one row, takes a tile
// for all heads at once. Keys that a row does not see cost nothing, which saves the masked half.
// Where a key of a tile is hidden from some rows of a block only, its weight is 0 and 0 * NaN would
// be NaN: a tile that holds such values is mixed row by row instead.

namespace attn {
namespace {

constexpr Index kBlockRows = 96;
constexpr Index kTileKeys = 256;
// Keys of a tile of one row: so many bytes of them, which repay the calls they cost.
constexpr Index kDecodeTileBytes = Index{128} << 10;
constexpr Index kMostDecodeKeys = 512;

template <class T>
constexpr T kHidden = -std::numeric_limits<T>::infinity();

template <class T>
struct Call {
  const HeadShape& shape;
  In<T> q;
  const AttendMask<T>& mask;
  Matrix<T> out;
  const AttendProbe<T>& probe;
  T scale;
  KeptScores<T> kept;
};

// Keys of a tile that lie side by side in memory, from the tile's key `at` on: all heads' columns.
template <class T>
struct Piece {
  Index at;
  KvRun<T> run;
};

template <class T>
RunningSoftmax<T> running_softmax(Arena& arena, Index rows) {
  return {arena.allocate<T>(rows), arena.allocate<T>(rows), arena.allocate<T>(rows),
          arena.allocate<bool>(rows)};
}

// Memory for the rows of one head and one tile.
template <class T>
struct Scratch {
  T* scores;
  T* turned;
  T* values;
  KeyRange* visible;
  KeyRange* ranges;  // what is visible of the tile
  Piece<T>* pieces;  // of the tile
  RunningSoftmax<T> state;

  Scratch(Arena& arena, Index rows, Index keys, const HeadShape& shape)
      : scores(arena.allocate<T>(std::min(rows, kBlockRows) * (padded(keys) + 16))),
        turned(arena.allocate<T>(rows > kFewRows ? shape.head_dim * padded(keys) : 0)),
        values(arena.allocate<T>(rows > kFewRows ? shape.value_dim * keys : 0)),
        visible(arena.allocate<KeyRange>(rows)),
        ranges(arena.allocate<KeyRange>(rows)),
        pieces(arena.allocate<Piece<T>>(keys)),
        state(running_softmax<T>(arena, rows)) {}
};

// Some keys and their values, of one key-value head. Small pages come several to a tile: one
// softmax, and a product for each.
template <class T>
struct Tile {
  Index key0;
  Index keys;
  Index kv_head;
  std::span<const Piece<T>> pieces;
  Matrix<const T> turned;  // k transposed, not for few rows
  Matrix<const T> values;  // v side by side, not for few rows
  bool skip_hidden;        // some row does not see a key of it, and some value is not finite

  static Matrix<const T> of_head(Matrix<const T> x, Index kv_head, Index width) {
    return x.col_block(kv_head * width, width);
  }
};

template <class T>
void mix_tile(const Call<T>& call, const Tile<T>& tile, Matrix<const T> s, const KeyRange* ranges,
              Matrix<T> out) {
  if (!tile.values.empty() && !tile.skip_hidden) {
    // What a row does not see has weight 0: ranges only save work.
    return multiply<T>({s.data(), s.stride(), 1}, tile.values, {ranges, nullptr}, true, out);
  }
  for (const Piece<T>& piece : tile.pieces) {
    const Matrix<const T> v = Tile<T>::of_head(piece.run.v, tile.kv_head, call.shape.value_dim);
    const Walk<T> weights{s.data() + piece.at, s.stride(), 1};
    if (tile.skip_hidden) {
      mix_seen<T>(weights, v, out);
    } else {
      multiply<T>(weights, v, {nullptr, nullptr}, true, out);
    }
  }
}

template <class T>
void attend_tile(const Call<T>& call, const RowBlock& block, const Tile<T>& tile, T* scores,
                 const KeyRange* ranges, const RunningSoftmax<T>& state) {
  const Matrix<const T> q = block.of(Matrix<const T>(call.q), call.shape.head_dim);
  const Matrix<T> out = block.of(call.out, call.shape.value_dim);
  const Matrix<T> s(scores, block.rows, tile.keys, padded(tile.keys) + 16);
  if (tile.turned.empty()) {
    for (const Piece<T>& piece : tile.pieces) {
      const Matrix<const T> k = Tile<T>::of_head(piece.run.k, tile.kv_head, call.shape.head_dim);
      multiply_few_rows<T>(q, k, nullptr, s.col_block(piece.at, k.rows()));
    }
  } else {
    const Matrix<T> whole(scores, block.rows, padded(tile.keys), padded(tile.keys) + 16);
    multiply<T>({q.data(), q.stride(), 1}, tile.turned, {nullptr, ranges}, false, whole);
  }
  softmax_tile(call.mask, call.scale, block, ranges, tile.key0, s, state, call.kept);
  if (call.mask.dropout.on()) drop_tile<T>(call.mask.dropout, block, ranges, tile.key0, s);
  scale_each_row<T>(state.factor, out);
  mix_tile<T>(call, tile, s, ranges, out);
}

template <class T>
void begin_rows(const Call<T>& call, const RowBlock& all, const RunningSoftmax<T>& state) {
  const Matrix<T> out = all.of(call.out, call.shape.value_dim);
  const bool sink = call.mask.sinks != nullptr;
  for (Index r = 0; r < all.rows; ++r) {
    std::fill(out.row(r), out.row(r) + out.cols(), T{0});
    state.largest[r] = sink ? call.mask.sinks[all.head_of(r)] : kHidden<T>;
    state.total[r] = sink ? T{1} : T{0};
    state.seen[r] = false;
    if (call.kept.data != nullptr) {
      const Index at = all.head_of(r) * call.kept.q_len + all.row_of(r);
      T* row = call.kept.data + at * call.kept.kv_rows;
      std::fill(row, row + call.kept.kv_rows, kHidden<T>);
    }
  }
}

template <class T>
void finish_rows(const Call<T>& call, const RowBlock& all, const RunningSoftmax<T>& state) {
  const bool wanted = call.probe.lse != nullptr || call.probe.weights != nullptr;
  for (Index r = 0; r < all.rows; ++r) {
    state.factor[r] = state.seen[r] ? T{1} / state.total[r] : T{1};
    if (!wanted) continue;
    const Index at = all.head_of(r) * call.kept.q_len + all.row_of(r);
    const T lse = state.seen[r] ? state.largest[r] + std::log(state.total[r]) : kHidden<T>;
    if (call.probe.lse != nullptr) call.probe.lse[at] = lse;
    if (call.probe.weights != nullptr) {
      weights_of_scores<T>(call.kept.data + at * call.kept.kv_rows, call.kept.kv_rows, lse,
                           call.probe.weights + at * call.kept.kv_rows);
    }
  }
  scale_each_row<T>(state.factor, all.of(call.out, call.shape.value_dim));
}

// All rows of a head against a tile's keys.
template <class T>
void attend_keys(const Call<T>& call, Index key0, Index keys, std::span<const Piece<T>> pieces,
                 const RowBlock& all, const Scratch<T>& scratch) {
  Tile<T> tile{key0, keys, all.head / call.shape.group(), pieces, {}, {}, false};
  if (all.rows > kFewRows) {
    const Matrix<T> turned(scratch.turned, call.shape.head_dim, padded(keys));
    // Narrow heads' values, a whole row of all heads apart, push each other out of the first cache.
    const Matrix<T> values(scratch.values, keys, call.shape.value_dim);
    for (const Piece<T>& piece : pieces) {
      const bool last = piece.at + piece.run.k.rows() == keys;
      const Index width = last ? padded(keys) - piece.at : piece.run.k.rows();
      turn<T>(Tile<T>::of_head(piece.run.k, tile.kv_head, call.shape.head_dim),
              turned.col_block(piece.at, width));
      const auto v = Tile<T>::of_head(piece.run.v, tile.kv_head, call.shape.value_dim);
      for (Index i = 0; i < v.rows(); ++i) {
        std::copy_n(v.row(i), v.cols(), values.row(piece.at + i));
      }
    }
    tile.turned = turned;
    tile.values = values;
  }
  const KeyRange rows = rows_that_see(scratch.visible, all.rows, key0, keys);
  bool ragged = call.mask.allowed.data != nullptr || call.mask.bias.data != nullptr;
  for (Index r = rows.begin; r < rows.end; ++r) {
    scratch.ranges[r] = in_tile(scratch.visible[r], key0, keys);
    ragged = ragged || scratch.ranges[r].end - scratch.ranges[r].begin < keys;
  }
  for (const Piece<T>& piece : pieces) {
    tile.skip_hidden =
        tile.skip_hidden || (ragged && !all_finite<T>(Tile<T>::of_head(piece.run.v, tile.kv_head,
                                                                       call.shape.value_dim)));
  }
  for (Index r = rows.begin; r < rows.end; r += kBlockRows) {
    attend_tile(call, all.part(r, std::min(kBlockRows, rows.end - r)), tile, scratch.scores,
                scratch.ranges + r, scratch.state.from(r));
  }
}

// The rows of one head against all keys.
template <class T>
void attend_rows(const Call<T>& call, std::span<const KvRun<T>> kv, const RowBlock& all,
                 const Scratch<T>& scratch) {
  const KeyRange seen = visible_to_block(call.mask, all, call.kept.kv_rows, scratch.visible);
  begin_rows(call, all, scratch.state);
  const Index step = tile_keys(seen.end - seen.begin, kTileKeys);
  RunWalk<T> runs(kv);
  for (Index key0 = seen.begin; key0 < seen.end; key0 += step) {
    const Index keys = std::min(step, seen.end - key0);
    std::size_t count = 0;
    runs.next(key0, keys, [&](Index at, const KvRun<T>& run) {
      scratch.pieces[count++] = {at, run};
    });
    attend_keys<T>(call, key0, keys, {scratch.pieces, count}, all, scratch);
  }
  finish_rows(call, all, scratch.state);
}

// Where a tile's keys and values lie, one by one; the last key again up to a whole group.
template <class T>
struct RowList {
  const T** k;
  const T** v;

  RowList(Arena& arena, Index keys)
      : k(arena.allocate<const T*>(keys + kKeysAtOnce)), v(arena.allocate<const T*>(keys)) {}

  void fill(RunWalk<T>& runs, Index key0, Index keys) const {
    runs.next(key0, keys, [this](Index at, const KvRun<T>& run) {
      for (Index i = 0; i < run.k.rows(); ++i) {
        k[at + i] = run.k.row(i);
        v[at + i] = run.v.row(i);
      }
    });
    std::fill(k + keys, k + keys + kKeysAtOnce, k[keys - 1]);
  }
};

// One row of all heads, which lie side by side in a key: memory is read in the order it has.
template <class T>
void attend_one_row(const Call<T>& call, std::span<const KvRun<T>> kv, Arena& arena) {
  const HeadShape& shape = call.shape;
  const RowBlock all{0, 0, shape.heads, true};
  auto* const ranges = arena.allocate<KeyRange>(shape.heads);
  const KeyRange seen = visible_to_block(call.mask, all, call.kept.kv_rows, ranges);
  const RunningSoftmax<T> state = running_softmax<T>(arena, shape.heads);
  begin_rows(call, all, state);
  // The rows' distance, not their width: some of a cache's heads take the tiles of all.
  const Index row_bytes = kv.empty() ? 1 : kv[0].k.stride() * static_cast<Index>(sizeof(T));
  const Index most =
      std::clamp(kDecodeTileBytes / std::max<Index>(row_bytes, 1), Index{16}, kMostDecodeKeys);
  const Index step = tile_keys(seen.end - seen.begin, most);
  const RowList<T> rows(arena, step);
  T* const scores = arena.allocate<T>(shape.heads * padded(step));
  // Inside the row's range only these hide keys.
  const bool skip_hidden = call.mask.allowed.data != nullptr || call.mask.bias.data != nullptr;
  RunWalk<T> runs(kv);
  for (Index key0 = seen.begin; key0 < seen.end; key0 += step) {
    const Index keys = std::min(step, seen.end - key0);
    rows.fill(runs, key0, keys);
    const Matrix<T> s(scores, shape.heads, keys, padded(keys));
    decode_scores<T>(shape, call.q.data(), rows.k, s);
    std::fill(ranges, ranges + shape.heads, KeyRange{0, keys});
    softmax_tile(call.mask, call.scale, all, ranges, key0, s, state, call.kept);
    if (call.mask.dropout.on()) drop_tile<T>(call.mask.dropout, all, ranges, key0, s);
    decode_mix<T>(shape, s, rows.v, state.factor, skip_hidden, call.out.data());
  }
  finish_rows(call, all, state);
}

}  // namespace

template <class T>
void attend(const HeadShape& shape, In<T> q, std::span<const KvRun<T>> kv,
            const AttendMask<T>& mask, Matrix<T> out, const AttendProbe<T>& probe, Arena& arena) {
  Index kv_rows = 0;
  for (const KvRun<T>& run : kv) {
    // All of it for the first alone: one row meets hundreds of small pages.
    const bool as_first = &run != kv.data() && run.k.cols() == kv[0].k.cols() &&
                          run.v.cols() == kv[0].v.cols() && run.k.rows() == run.v.rows();
    if (!as_first) check_attend<T>(shape, q, run.k, run.v, out);
    kv_rows += run.k.rows();
  }
  if (kv.empty()) {
    check_attend<T>(shape, q, {nullptr, 0, shape.kv_heads * shape.head_dim},
                    {nullptr, 0, shape.kv_heads * shape.value_dim}, out);
  }
  T* const kept = probe.scores != nullptr ? probe.scores : probe.weights;
  const Call<T> call{
      shape, q, mask, out, probe, score_scale(mask, shape.head_dim), {kept, q.rows(), kv_rows}};
  const Arena::Scope scope(arena);
  if (q.rows() == 1) return attend_one_row(call, kv, arena);
  if (fits_query_lanes(q.rows(), mask)) {
    return attend_query_lanes<T>(shape, q, kv, mask, out, probe, arena);
  }
  const Scratch<T> scratch(arena, q.rows(), std::min(kTileKeys, kv_rows), shape);
  for (Index head = 0; head < shape.heads; ++head) {
    attend_rows(call, kv, RowBlock{head, 0, q.rows(), false}, scratch);
  }
}

template void attend<float>(const HeadShape&, In<float>, std::span<const KvRun<float>>,
                            const AttendMask<float>&, Matrix<float>, const AttendProbe<float>&,
                            Arena&);
template void attend<double>(const HeadShape&, In<double>, std::span<const KvRun<double>>,
                             const AttendMask<double>&, Matrix<double>, const AttendProbe<double>&,
                             Arena&);

}  // namespace attn
