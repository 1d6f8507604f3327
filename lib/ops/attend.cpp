#include "ops/attend.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/attend_kernels.h"
#include "ops/gemm.h"

// Queries are worked on in blocks of rows, keys in tiles: products by gemm (or a small kernel),
// softmax of the tile with a running maximum and sum, mix by gemm. Keys that no row of a block sees
// are never touched, which saves the masked half. Where a key of a tile is hidden from some rows
// of the block only, its weight is 0 and 0 * NaN would be NaN: a tile that holds such values is
// mixed row by row instead.

namespace attn {
namespace {

constexpr Index kBlockRows = 96;
constexpr Index kTileKeys = 256;

template <class T>
constexpr T kHidden = -std::numeric_limits<T>::infinity();

template <class T>
struct Call {
  const HeadShape& shape;
  In<T> q;
  std::span<const KvRun<T>> kv;
  const AttendMask<T>& mask;
  Matrix<T> out;
  const AttendProbe<T>& probe;
  T scale;
  Index kv_rows;
};

// Memory for one block of rows.
template <class T>
struct Scratch {
  T* scores;
  KeyRange* visible;
  RunningSoftmax<T> state;

  Scratch(Arena& arena, Index rows, Index keys)
      : scores(arena.allocate<T>(rows * keys)),
        visible(arena.allocate<KeyRange>(rows)),
        state{arena.allocate<T>(rows), arena.allocate<T>(rows), arena.allocate<T>(rows),
              arena.allocate<bool>(rows)} {}
};

// One tile: rows of the block against keys key0 .. of a run (k and v are those rows, the columns
// of the block's key-value head).
template <class T>
void attend_tile(const Call<T>& call, const RowBlock& block, const Scratch<T>& scratch, bool ragged,
                 Index key0, Matrix<const T> k, Matrix<const T> v, const KeptScores<T>& kept) {
  const Matrix<const T> q = block.of(Matrix<const T>(call.q), call.shape.head_dim);
  const Matrix<T> out = block.of(call.out, call.shape.value_dim);
  const Index keys = k.rows();
  const Matrix<T> s(scratch.scores, block.rows, keys, (keys + 15) / 16 * 16);
  if (is_small(block.rows, keys, q.cols())) {
    small_products<T>(q, k, s);
  } else {
    gemm<T>(Transpose::kNo, Transpose::kYes, T{1}, q, k, T{0}, s);
  }
  softmax_tile(call.mask, call.scale, block, scratch.visible, key0, s, scratch.state, kept);
  scale_each_row<T>(scratch.state.factor, out);
  const bool row_by_row = ragged && !all_finite<T>(v);
  if (row_by_row || is_small(block.rows, keys, v.cols())) {
    small_mix<T>({s.data(), s.stride(), 1}, v, scratch.visible, key0, row_by_row, out);
  } else {
    gemm<T>(Transpose::kNo, Transpose::kNo, T{1}, s, v, T{1}, out);
  }
}

template <class T>
void finish_row(const Call<T>& call, Index head, Index row, T lse, const T* scores) {
  const Index at = head * call.q.rows() + row;
  if (call.probe.lse != nullptr) call.probe.lse[at] = lse;
  if (call.probe.weights != nullptr) {
    weights_of_scores<T>(scores + at * call.kv_rows, call.kv_rows, lse,
                         call.probe.weights + at * call.kv_rows);
  }
}

template <class T>
void attend_block(const Call<T>& call, const RowBlock& block, const Scratch<T>& scratch) {
  const Index kv_head = block.head / call.shape.group();
  const Matrix<T> out = block.of(call.out, call.shape.value_dim);
  const RunningSoftmax<T>& state = scratch.state;
  const BlockRange range = visible_to_block(call.mask, block, call.kv_rows, scratch.visible);
  T* scores = call.probe.scores != nullptr ? call.probe.scores : call.probe.weights;
  for (Index r = 0; r < block.rows; ++r) {
    std::fill(out.row(r), out.row(r) + out.cols(), T{0});
    const bool sink = call.mask.sinks != nullptr;
    state.largest[r] = sink ? call.mask.sinks[block.head_of(r)] : kHidden<T>;
    state.total[r] = sink ? T{1} : T{0};
    state.seen[r] = false;
    if (scores != nullptr) {
      T* row = scores + (block.head_of(r) * call.q.rows() + block.row_of(r)) * call.kv_rows;
      std::fill(row, row + call.kv_rows, kHidden<T>);
    }
  }
  Index base = 0;
  for (const KvRun<T>& run : call.kv) {
    const Index begin = std::max(range.keys.begin, base);
    const Index end = std::min(range.keys.end, base + run.k.rows());
    const Index step = begin < end ? tile_keys(end - begin, kTileKeys) : 1;
    for (Index key = begin; key < end; key += step) {
      const Index keys = std::min(step, end - key);
      const auto rows_of = [&](Matrix<const T> x, Index width) {
        return x.row_block(key - base, keys).col_block(kv_head * width, width);
      };
      attend_tile(call, block, scratch, range.ragged, key, rows_of(run.k, call.shape.head_dim),
                  rows_of(run.v, call.shape.value_dim),
                  KeptScores<T>{scores, call.q.rows(), call.kv_rows});
    }
    base += run.k.rows();
  }
  for (Index r = 0; r < block.rows; ++r) {
    const T lse = state.seen[r] ? state.largest[r] + std::log(state.total[r]) : kHidden<T>;
    state.factor[r] = state.seen[r] ? T{1} / state.total[r] : T{1};
    finish_row(call, block.head_of(r), block.row_of(r), lse, scores);
  }
  scale_each_row<T>(state.factor, out);
}

}  // namespace

template <class T>
void attend(const HeadShape& shape, In<T> q, std::span<const KvRun<T>> kv,
            const AttendMask<T>& mask, Matrix<T> out, const AttendProbe<T>& probe, Arena& arena) {
  Index kv_rows = 0;
  for (const KvRun<T>& run : kv) {
    check_attend<T>(shape, q, run.k, run.v, out);
    kv_rows += run.k.rows();
  }
  if (kv.empty()) {
    check_attend<T>(shape, q, {nullptr, 0, shape.kv_heads * shape.head_dim},
                    {nullptr, 0, shape.kv_heads * shape.value_dim}, out);
  }
  const Call<T> call{shape, q, kv, mask, out, probe, score_scale(mask, shape.head_dim), kv_rows};
  const bool one_row = q.rows() == 1;
  const Index most = std::min(kBlockRows, one_row ? shape.group() : q.rows());
  const Arena::Scope scope(arena);
  const Scratch<T> scratch(arena, most, (std::min(kTileKeys, kv_rows) + 15) / 16 * 16);
  if (one_row) {
    for (Index head = 0; head < shape.heads; head += most) {
      const Index in_group = shape.group() - head % shape.group();
      attend_block(call, {head, 0, std::min(most, in_group), true}, scratch);
    }
    return;
  }
  for (Index head = 0; head < shape.heads; ++head) {
    for (Index row = 0; row < q.rows(); row += most) {
      attend_block(call, {head, row, std::min(most, q.rows() - row), false}, scratch);
    }
  }
}

template void attend<float>(const HeadShape&, In<float>, std::span<const KvRun<float>>,
                            const AttendMask<float>&, Matrix<float>, const AttendProbe<float>&,
                            Arena&);
template void attend<double>(const HeadShape&, In<double>, std::span<const KvRun<double>>,
                             const AttendMask<double>&, Matrix<double>, const AttendProbe<double>&,
                             Arena&);

}  // namespace attn
