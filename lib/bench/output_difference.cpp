#include "bench/output_difference.h"

#include <algorithm>
#include <cmath>

namespace attn {

double OutputDifference::share() const {
  return largest == 0 ? 0 : largest / largest_output;
}

OutputDifference output_difference(Matrix<const float> reference, Matrix<const float> other) {
  OutputDifference found;
  for (Index i = 0; i < other.rows(); ++i) {
    for (Index j = 0; j < other.cols(); ++j) {
      const double wanted = reference(i, j);
      const double difference = std::abs(wanted - static_cast<double>(other(i, j)));
      // A NaN must not be lost by a comparison that it makes false.
      if (!(difference <= found.largest)) found.largest = difference;
      found.largest_output = std::max(found.largest_output, std::abs(wanted));
      if (std::isnan(difference)) return found;
    }
  }
  return found;
}

}  // namespace attn
