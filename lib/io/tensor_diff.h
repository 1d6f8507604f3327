#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/tensor.h"
#include "io/tensor_file.h"

namespace attn {

/// What counts as equal.
struct DiffSettings {
  double rtol = 0;  ///< |a - b| <= atol + rtol * |a|: the first tensor is the measure
  double atol = 0;
  bool nan_equal = false;  ///< a NaN equals a NaN
  bool any_type = false;   ///< the same numbers in another type are no difference
  /// Only indices below this one along `axis` count (a causal kernel's rows before a change).
  std::optional<Index> equal_before = std::nullopt;
  Index axis = -2;  ///< -1 is the last; a tensor of one axis has that one
};

/// How two tensors of one shape differ. The errors are over finite pairs of numbers.
struct TensorDifference {
  Index count = 0;      ///< pairs compared
  Index differing = 0;  ///< pairs that are not equal as the settings have it
  Index nonfinite = 0;  ///< of these, pairs in which a NaN or an infinity stands against another
  std::optional<Shape> first;  ///< row-major first of the differing
  std::optional<Shape> worst;  ///< where the largest finite error is
  double max_abs = 0;
  double max_rel = 0;  ///< |a - b| / |a|, where a is not 0
  double nmse = 0;     ///< sum (a - b)^2 / sum a^2; 0 where both are 0
  double cosine = 1;   ///< sum a b / (|a| |b|); 1 where both are 0
  /// Steps between representable numbers of the coarser of the two types; none for integers.
  std::optional<double> max_ulp;
};

/// Where two tensors differ, to be looked at: row-major, as large as they.
struct DifferenceMap {
  std::vector<float> distance;      ///< |a - b| where they differ, infinite where one is not finite
  std::vector<std::uint8_t> equal;  ///< 1 where the settings take them for equal
};

/// Compares two datasets of one shape, a block of numbers at a time: memory does not grow with
/// them where the files keep them in one piece, unless a map of them is wanted.
TensorDifference tensor_difference(const TensorFile& a, const std::string& a_path,
                                   const TensorFile& b, const std::string& b_path,
                                   const DiffSettings& settings, DifferenceMap* map = nullptr);

}  // namespace attn
