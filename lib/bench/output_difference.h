#pragma once

#include "core/matrix.h"

namespace attn {

/// How far outputs are from those of another way.
struct OutputDifference {
  double largest = 0;         // difference; NaN where one of the two has a NaN
  double largest_output = 0;  // of the reference, to say it as a share

  double share() const;
};

/// Rows of `other` against as many of `reference`, element by element.
OutputDifference output_difference(Matrix<const float> reference, Matrix<const float> other);

}  // namespace attn
