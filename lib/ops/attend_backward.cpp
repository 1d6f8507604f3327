#include <algorithm>

#include "ops/attend.h"
#include "ops/attend_kernels.h"

// Forward's tiles and blocks again (Dao et al. 2022, appendix B.4): products are recomputed,
// weights follow from the stored log-sum-exp, and each tile adds its part to all three gradients.

namespace attn {
namespace {

constexpr Index kBlockRows = 96;
constexpr Index kTileKeys = 128;

template <class T>
struct BackwardCall {
  const HeadShape& shape;
  In<T> q, k, v;
  const AttendMask<T>& mask;
  In<T> out;
  const T* lse;
  In<T> d_out;
  Matrix<T> d_q, d_k, d_v;
  T scale;
};

// Memory for the rows of one head and one tile.
template <class T>
struct BackwardScratch {
  T* weights;
  T* gradients;
  T* turned_k;
  T* turned_v;
  T* slopes;  // of one row's softcap
  T* common;
  KeyRange* visible;
  KeyRange* ranges;  // what is visible of the tile
  KeyRange* rows;    // which rows of a block see a key

  BackwardScratch(Arena& arena, const HeadShape& shape, Index rows_in_all, Index keys)
      : weights(arena.allocate<T>(std::min(rows_in_all, kBlockRows) * padded(keys))),
        gradients(arena.allocate<T>(std::min(rows_in_all, kBlockRows) * padded(keys))),
        turned_k(arena.allocate<T>(shape.head_dim * padded(keys))),
        turned_v(arena.allocate<T>(shape.value_dim * padded(keys))),
        slopes(arena.allocate<T>(padded(keys))),
        common(arena.allocate<T>(rows_in_all)),
        visible(arena.allocate<KeyRange>(rows_in_all)),
        ranges(arena.allocate<KeyRange>(rows_in_all)),
        rows(arena.allocate<KeyRange>(keys)) {}
};

// Some keys and values of one key-value head, and their gradients.
template <class T>
struct BackwardTile {
  Index key0;
  Matrix<const T> k, turned_k, turned_v;
  Matrix<T> d_k, d_v;
  bool skip_hidden;  // some row does not see a key of it, and some key is not finite
};

// Rows begin and end later from key to key, as keys do from row to row.
void rows_of_keys(const KeyRange* ranges, Index rows, Index keys, KeyRange* of_key) {
  Index begin = 0;
  Index end = 0;
  for (Index j = 0; j < keys; ++j) {
    while (begin < rows && ranges[begin].end <= j) ++begin;
    while (end < rows && ranges[end].begin <= j) ++end;
    of_key[j] = {begin, std::max(begin, end)};
  }
}

template <class T>
void backward_tile(const BackwardCall<T>& call, const RowBlock& block, const BackwardTile<T>& tile,
                   const BackwardScratch<T>& scratch, const KeyRange* ranges, const T* common) {
  const Index keys = tile.k.rows();
  const Index stride = padded(keys);
  const Matrix<const T> q = block.of(Matrix<const T>(call.q), call.shape.head_dim);
  const Matrix<const T> d_out = block.of(Matrix<const T>(call.d_out), call.shape.value_dim);
  const Matrix<T> d_q = block.of(call.d_q, call.shape.head_dim);
  const auto of_tile = [&](T* data, Index cols) {
    return Matrix<T>(data, block.rows, cols, stride);
  };
  rows_of_keys(ranges, block.rows, keys, scratch.rows);

  // scores = scale * q * k^T
  multiply<T>({q.data(), q.stride(), 1}, tile.turned_k, {nullptr, ranges}, false,
              of_tile(scratch.weights, stride));
  // out = weights * v
  multiply<T>({d_out.data(), d_out.stride(), 1}, tile.turned_v, {nullptr, ranges}, false,
              of_tile(scratch.gradients, stride));
  const Matrix<T> weights = of_tile(scratch.weights, keys);
  const Matrix<T> gradients = of_tile(scratch.gradients, keys);
  const DropoutMask& dropout = call.mask.dropout;
  // The mix saw drop(weights): drop is its own backward.
  if (dropout.on()) drop_tile<T>(dropout, block, ranges, tile.key0, gradients);
  softmax_backward_tile<T>(call.mask, call.scale, block, ranges, tile.key0, weights, gradients,
                           scratch.slopes, call.lse + block.head * call.q.rows() + block.row,
                           common);
  if (dropout.on()) drop_tile<T>(dropout, block, ranges, tile.key0, weights);
  multiply<T>({scratch.weights, 1, stride}, d_out, {scratch.rows, nullptr}, true, tile.d_v);
  multiply<T>({scratch.gradients, 1, stride}, q, {scratch.rows, nullptr}, true, tile.d_k);
  if (tile.skip_hidden) {
    mix_seen<T>({scratch.gradients, stride, 1}, tile.k, d_q);
  } else {
    multiply<T>({scratch.gradients, stride, 1}, tile.k, {ranges, nullptr}, true, d_q);
  }
}

template <class T>
void backward_head(const BackwardCall<T>& call, Index head, const BackwardScratch<T>& scratch) {
  const Index head_dim = call.shape.head_dim;
  const Index value_dim = call.shape.value_dim;
  const Index kv_head = head / call.shape.group();
  const RowBlock all{head, 0, call.q.rows(), false};
  const KeyRange seen = visible_to_block(call.mask, all, call.k.rows(), scratch.visible);
  const bool by_table = call.mask.allowed.data != nullptr || call.mask.bias.data != nullptr;
  // The sum over keys of weight * d_weight, whatever part the sink takes.
  row_dots<T>(all.of(Matrix<const T>(call.d_out), value_dim),
              all.of(Matrix<const T>(call.out), value_dim), scratch.common);
  const Index step = tile_keys(seen.end - seen.begin, kTileKeys);
  for (Index key0 = seen.begin; key0 < seen.end; key0 += step) {
    const Index keys = std::min(step, seen.end - key0);
    const auto of_keys = [&](auto x, Index width) {
      return x.row_block(key0, keys).col_block(kv_head * width, width);
    };
    const Matrix<T> turned_k(scratch.turned_k, head_dim, padded(keys));
    const Matrix<T> turned_v(scratch.turned_v, value_dim, padded(keys));
    BackwardTile<T> tile{key0,
                         of_keys(Matrix<const T>(call.k), head_dim),
                         turned_k,
                         turned_v,
                         of_keys(call.d_k, head_dim),
                         of_keys(call.d_v, value_dim),
                         false};
    turn<T>(tile.k, turned_k);
    turn<T>(of_keys(Matrix<const T>(call.v), value_dim), turned_v);
    const KeyRange rows = rows_that_see(scratch.visible, all.rows, key0, keys);
    bool ragged = by_table;
    for (Index r = rows.begin; r < rows.end; ++r) {
      scratch.ranges[r] = in_tile(scratch.visible[r], key0, keys);
      ragged = ragged || scratch.ranges[r].end - scratch.ranges[r].begin < keys;
    }
    tile.skip_hidden = ragged && !all_finite<T>(tile.k);
    for (Index r = rows.begin; r < rows.end; r += kBlockRows) {
      backward_tile(call, all.part(r, std::min(kBlockRows, rows.end - r)), tile, scratch,
                    scratch.ranges + r, scratch.common + r);
    }
  }
}

}  // namespace

template <class T>
void attend_backward(const HeadShape& shape, In<T> q, In<T> k, In<T> v, const AttendMask<T>& mask,
                     In<T> out, const std::type_identity_t<T>* lse, In<T> d_out, Matrix<T> d_q,
                     Matrix<T> d_k, Matrix<T> d_v, Arena& arena) {
  check_attend<T>(shape, q, k, v, out);
  check_attend<T>(shape, d_q, d_k, d_v, d_out);
  require_shape(d_q.rows() == q.rows() && d_k.rows() == k.rows(),
                "attend_backward: a gradient has another shape");
  const BackwardCall<T> call{shape, q,     k,   v,   mask, out,
                             lse,   d_out, d_q, d_k, d_v,  score_scale(mask, shape.head_dim)};
  const Arena::Scope scope(arena);
  const BackwardScratch<T> scratch(arena, shape, q.rows(), std::min(kTileKeys, k.rows()));
  for (Index head = 0; head < shape.heads; ++head) backward_head(call, head, scratch);
}

template void attend_backward<float>(const HeadShape&, In<float>, In<float>, In<float>,
                                     const AttendMask<float>&, In<float>, const float*, In<float>,
                                     Matrix<float>, Matrix<float>, Matrix<float>, Arena&);
template void attend_backward<double>(const HeadShape&, In<double>, In<double>, In<double>,
                                      const AttendMask<double>&, In<double>, const double*,
                                      In<double>, Matrix<double>, Matrix<double>, Matrix<double>,
                                      Arena&);

}  // namespace attn
