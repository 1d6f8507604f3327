#include "check/layer/token_projection.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"

namespace attn {

Tensor<double> projected(const Tensor<double>& x, const std::optional<Tensor<double>>& weight,
                         Index heads, const char* name) {
  const bool batched = x.rank() == 3;
  if (x.rank() != 2 && !batched) {
    throw DataError(
        fmt::format("x: want (tokens, dim) or (batch, tokens, dim), got {}", shape_text(x.shape)));
  }
  const Index batch = batched ? x.dim(0) : 1;
  const Index tokens = x.dim(-2);
  const Index dim = x.dim(-1);
  if (weight && (weight->rank() != 2 || weight->dim(1) != dim)) {
    throw DataError(
        fmt::format("{}: want (out, {}), got {}", name, dim, shape_text(weight->shape)));
  }
  const Index out = weight ? weight->dim(0) : dim;
  if (out % heads != 0) {
    throw DataError(fmt::format("{}: its heads must divide its {} features: {} does not divide {}",
                                name, out, heads, out));
  }
  const Index features = out / heads;
  Tensor<double> result({batch, heads, tokens, features});
  for (Index b = 0; b < batch; ++b) {
    for (Index i = 0; i < tokens; ++i) {
      const double* row = x.data() + (b * tokens + i) * dim;
      for (Index c = 0; c < out; ++c) {
        double sum = weight ? 0 : row[c];
        for (Index k = 0; weight && k < dim; ++k) sum += row[k] * weight->data()[c * dim + k];
        const Index head = c / features;
        result.data()[((b * heads + head) * tokens + i) * features + c % features] = sum;
      }
    }
  }
  return result;
}

Projected project_tokens(const TokenProjection& tokens) {
  const Tensor<double>& source = tokens.context ? *tokens.context : tokens.x;
  return {projected(tokens.x, tokens.q_proj, tokens.heads, "q_proj"),
          projected(source, tokens.k_proj, tokens.kv_heads, "k_proj"),
          projected(source, tokens.v_proj, tokens.kv_heads, "v_proj")};
}

}  // namespace attn
