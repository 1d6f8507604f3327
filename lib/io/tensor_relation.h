#pragma once

#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/tensor.h"

namespace attn {

/// Simple ways in which one tensor comes from another, in words, the most specific first: the same
/// numbers in another shape or order of axes, a constant factor or shift, rounding to bf16 or f16,
/// features paired as halves in one and interleaved in the other (rotary positions; along the last
/// or the first axis, whole or in heads). Empty where none holds to within the rounding of the
/// coarser type. `type_a` and `type_b` are what the numbers were stored in.
std::vector<std::string> tensor_relations(const Tensor<double>& a, DType type_a,
                                          const Tensor<double>& b, DType type_b);

}  // namespace attn
