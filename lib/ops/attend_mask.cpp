#include "ops/attend_mask.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {

template <class T>
KeyRange visible_keys(const AttendMask<T>& mask, Index row, Index kv_rows) {
  const Index position = row + mask.offset;
  KeyRange range{0, kv_rows};
  if (mask.kv_len >= 0) range.end = std::min(range.end, mask.kv_len);
  if (mask.causal) range.end = std::min(range.end, position + 1);
  // A sum that leaves 63 bits is a window wider than any sequence.
  if (mask.window_right >= 0) {
    const auto last = checked_add(position, mask.window_right);
    if (last) range.end = std::min(range.end, *last + 1);
  }
  if (mask.window_left >= 0) {
    const auto first = checked_add(position, -mask.window_left);
    if (first) range.begin = std::max(range.begin, *first);
  }
  range.end = std::max(range.end, range.begin);
  return range;
}

template <class T>
T score_scale(const AttendMask<T>& mask, Index head_dim) {
  return mask.scale != T{0} ? mask.scale : T{1} / std::sqrt(static_cast<T>(head_dim));
}

template <class T>
bool hidden_by_table(const AttendMask<T>& mask, Index head, Index row, Index key) {
  if (mask.allowed.data != nullptr && mask.allowed.at(head, row, key) == 0) return true;
  return mask.bias.data != nullptr &&
         mask.bias.at(head, row, key) == -std::numeric_limits<T>::infinity();
}

template <class T>
T final_score(const AttendMask<T>& mask, T scale, Index head, Index row, Index key, T product,
              T* capped) {
  T score = scale * product;
  if (mask.softcap != T{0}) {
    const T t = std::tanh(score / mask.softcap);
    if (capped != nullptr) *capped = t;
    score = mask.softcap * t;
  }
  if (mask.alibi_slopes != nullptr) {
    const Index distance = std::abs(row + mask.offset - key);
    score -= mask.alibi_slopes[head] * static_cast<T>(distance);
  }
  if (mask.bias.data != nullptr) score += mask.bias.at(head, row, key);
  return score;
}

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

template KeyRange visible_keys<float>(const AttendMask<float>&, Index, Index);
template KeyRange visible_keys<double>(const AttendMask<double>&, Index, Index);
template float score_scale<float>(const AttendMask<float>&, Index);
template double score_scale<double>(const AttendMask<double>&, Index);
template bool hidden_by_table<float>(const AttendMask<float>&, Index, Index, Index);
template bool hidden_by_table<double>(const AttendMask<double>&, Index, Index, Index);
template float final_score<float>(const AttendMask<float>&, float, Index, Index, Index, float,
                                  float*);
template double final_score<double>(const AttendMask<double>&, double, Index, Index, Index, double,
                                    double*);
template void check_attend<float>(const HeadShape&, In<float>, In<float>, In<float>, In<float>);
template void check_attend<double>(const HeadShape&, In<double>, In<double>, In<double>,
                                   In<double>);

}  // namespace attn
