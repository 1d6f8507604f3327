#include <algorithm>

#include "ops/attend.h"
#include "ops/attend_kernels.h"
#include "ops/gemm.h"

// Forward's blocks and tiles again (Dao et al. 2022, appendix B.4): products are recomputed,
// weights follow from the stored log-sum-exp, and each tile adds its part to all three gradients.

namespace attn {
namespace {

constexpr Index kBlockRows = 128;
constexpr Index kTileKeys = 256;

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

template <class T>
struct BackwardScratch {
  T* weights;
  T* gradients;
  T* common;
  KeyRange* visible;

  BackwardScratch(Arena& arena, Index rows, Index keys)
      : weights(arena.allocate<T>(rows * keys)),
        gradients(arena.allocate<T>(rows * keys)),
        common(arena.allocate<T>(rows)),
        visible(arena.allocate<KeyRange>(rows)) {}
};

// s = a * b^T.
template <class T>
void products(Matrix<const T> a, Matrix<const T> b, Matrix<T> s) {
  if (is_small(a.rows(), b.rows(), a.cols())) return small_products<T>(a, b, s);
  gemm<T>(Transpose::kNo, Transpose::kYes, T{1}, a, b, T{0}, s);
}

// out += w^T * x: a key's gradient from all rows.
template <class T>
void mix_columns(Matrix<T> w, Matrix<const T> x, Matrix<T> out) {
  if (is_small(w.rows(), w.cols(), x.cols())) {
    return small_mix<T>({w.data(), 1, w.stride()}, x, nullptr, 0, false, out);
  }
  gemm<T>(Transpose::kYes, Transpose::kNo, T{1}, w, x, T{1}, out);
}

template <class T>
void backward_tile(const BackwardCall<T>& call, const RowBlock& block,
                   const BackwardScratch<T>& scratch, bool ragged, Index key, Index keys) {
  const Index head_dim = call.shape.head_dim;
  const Index value_dim = call.shape.value_dim;
  const Index kv_head = block.head / call.shape.group();
  const auto keys_of = [&](auto x, Index width) {
    return x.row_block(key, keys).col_block(kv_head * width, width);
  };
  const Matrix<const T> q = block.of(Matrix<const T>(call.q), head_dim);
  const Matrix<const T> d_out = block.of(Matrix<const T>(call.d_out), value_dim);
  const Matrix<const T> k = keys_of(Matrix<const T>(call.k), head_dim);
  const Matrix<const T> v = keys_of(Matrix<const T>(call.v), value_dim);
  const Matrix<T> d_q = block.of(call.d_q, head_dim);
  const Index stride = (keys + 15) / 16 * 16;
  const Matrix<T> weights(scratch.weights, block.rows, keys, stride);
  const Matrix<T> gradients(scratch.gradients, block.rows, keys, stride);

  products<T>(q, k, weights);        // scores = scale * q * k^T
  products<T>(d_out, v, gradients);  // out = weights * v
  softmax_backward_tile<T>(call.mask, call.scale, block, scratch.visible, key, weights, gradients,
                           call.lse + block.head * call.q.rows() + block.row, scratch.common);
  mix_columns<T>(weights, d_out, keys_of(call.d_v, value_dim));
  mix_columns<T>(gradients, q, keys_of(call.d_k, head_dim));
  const bool row_by_row = ragged && !all_finite<T>(k);
  if (row_by_row || is_small(block.rows, keys, head_dim)) {
    small_mix<T>({gradients.data(), stride, 1}, k, scratch.visible, key, row_by_row, d_q);
  } else {
    gemm<T>(Transpose::kNo, Transpose::kNo, T{1}, gradients, k, T{1}, d_q);
  }
}

template <class T>
void backward_block(const BackwardCall<T>& call, const RowBlock& block,
                    const BackwardScratch<T>& scratch) {
  const BlockRange range = visible_to_block(call.mask, block, call.k.rows(), scratch.visible);
  // The sum over keys of weight * d_weight, whatever part the sink takes.
  row_dots<T>(block.of(Matrix<const T>(call.d_out), call.shape.value_dim),
              block.of(Matrix<const T>(call.out), call.shape.value_dim), scratch.common);
  const Index end = range.keys.end;
  const Index step = range.keys.empty() ? 1 : tile_keys(end - range.keys.begin, kTileKeys);
  for (Index key = range.keys.begin; key < end; key += step) {
    backward_tile(call, block, scratch, range.ragged, key, std::min(step, end - key));
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
  const Index most = std::min(kBlockRows, q.rows());
  const Arena::Scope scope(arena);
  const BackwardScratch<T> scratch(arena, most, (std::min(kTileKeys, k.rows()) + 15) / 16 * 16);
  for (Index head = 0; head < shape.heads; ++head) {
    for (Index row = 0; row < q.rows(); row += most) {
      backward_block(call, {head, row, std::min(most, q.rows() - row), false}, scratch);
    }
  }
}

template void attend_backward<float>(const HeadShape&, In<float>, In<float>, In<float>,
                                     const AttendMask<float>&, In<float>, const float*, In<float>,
                                     Matrix<float>, Matrix<float>, Matrix<float>, Arena&);
template void attend_backward<double>(const HeadShape&, In<double>, In<double>, In<double>,
                                      const AttendMask<double>&, In<double>, const double*,
                                      In<double>, Matrix<double>, Matrix<double>, Matrix<double>,
                                      Arena&);

}  // namespace attn
