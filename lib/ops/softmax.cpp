#include "ops/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {

template <class T>
void softmax_rows(Matrix<T> x, T* log_sum_exp) {
  constexpr T kHidden = -std::numeric_limits<T>::infinity();
  for (Index i = 0; i < x.rows(); ++i) {
    T* row = x.row(i);
    T largest = kHidden;
    for (Index j = 0; j < x.cols(); ++j) {
      // A NaN must reach the result and not be lost in a comparison.
      if (!(row[j] <= largest)) largest = row[j];
      if (std::isnan(largest)) break;
    }
    if (largest == kHidden) {
      std::fill(row, row + x.cols(), T{0});
      if (log_sum_exp != nullptr) log_sum_exp[i] = kHidden;
      continue;
    }
    T total = 0;
    for (Index j = 0; j < x.cols(); ++j) {
      row[j] = std::exp(row[j] - largest);
      total += row[j];
    }
    for (Index j = 0; j < x.cols(); ++j) row[j] /= total;
    if (log_sum_exp != nullptr) log_sum_exp[i] = largest + std::log(total);
  }
}

template void softmax_rows<float>(Matrix<float>, float*);
template void softmax_rows<double>(Matrix<double>, double*);

}  // namespace attn
