#include <cmath>
#include <limits>

#include "ops/attend.h"
#include "ops/attend_mask.h"

namespace attn {
namespace {

template <class T>
T dot(const T* a, const T* b, Index count) {
  T total = 0;
  for (Index i = 0; i < count; ++i) total += a[i] * b[i];
  return total;
}

template <class T>
void add_scaled(T factor, const T* x, T* y, Index count) {
  for (Index i = 0; i < count; ++i) y[i] += factor * x[i];
}

}  // namespace

template <class T>
void attend_backward(const HeadShape& shape, In<T> q, In<T> k, In<T> v, const AttendMask<T>& mask,
                     In<T> out, const std::type_identity_t<T>* lse, In<T> d_out, Matrix<T> d_q,
                     Matrix<T> d_k, Matrix<T> d_v, Arena& /*arena*/) {
  check_attend<T>(shape, q, k, v, out);
  check_attend<T>(shape, d_q, d_k, d_v, d_out);
  require_shape(d_q.rows() == q.rows() && d_k.rows() == k.rows(),
                "attend_backward: a gradient has another shape");
  const T scale = score_scale(mask, shape.head_dim);
  const Index head_dim = shape.head_dim;
  const Index value_dim = shape.value_dim;
  for (Index head = 0; head < shape.heads; ++head) {
    const Index kv_head = head / shape.group();
    for (Index row = 0; row < q.rows(); ++row) {
      const T row_lse = lse[head * q.rows() + row];
      if (row_lse == -std::numeric_limits<T>::infinity()) continue;
      const T* query = q.row(row) + head * head_dim;
      const T* d_mix = d_out.row(row) + head * value_dim;
      // sum over keys of weight * d_weight, whatever part the sink takes
      const T common = dot(d_mix, out.row(row) + head * value_dim, value_dim);
      const KeyRange range = visible_keys(mask, row, k.rows());
      for (Index key = range.begin; key < range.end; ++key) {
        if (hidden_by_table(mask, head, row, key)) continue;
        const T* key_row = k.row(key) + kv_head * head_dim;
        T capped = 0;
        const T score =
            final_score(mask, scale, head, row, key, dot(query, key_row, head_dim), &capped);
        const T weight = std::exp(score - row_lse);
        // out = sum of weight * value
        add_scaled(weight, d_mix, d_v.row(key) + kv_head * value_dim, value_dim);
        const T d_weight = dot(d_mix, v.row(key) + kv_head * value_dim, value_dim);
        // weight = exp(score - lse)
        T d_score = weight * (d_weight - common);
        // score = softcap * tanh(scale * product / softcap) + ...
        d_score *= scale * (T{1} - capped * capped);
        add_scaled(d_score, key_row, d_q.row(row) + head * head_dim, head_dim);
        add_scaled(d_score, query, d_k.row(key) + kv_head * head_dim, head_dim);
      }
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
