#pragma once

#include <optional>
#include <span>

#include "core/matrix.h"

namespace attn {

/// How much of an induction head a causal map (query, key) over these tokens is: the mean weight
/// that a token gives to the one after its own last occurrence, over the queries whose token has
/// occurred before; nothing where none has. 1 for a perfect one, about 1 / n for a head that looks
/// evenly over n tokens (Olsson et al. 2022, arXiv:2209.11895, "prefix matching score").
/// Throws ShapeError for a map of another size than the tokens.
std::optional<double> induction_score(Matrix<const float> map, std::span<const Index> ids);

}  // namespace attn
