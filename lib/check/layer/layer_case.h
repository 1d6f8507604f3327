#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "check/cases/attention_case.h"
#include "ops/positions.h"

namespace attn {

/// y = x W^T + b.
struct Projection {
  Tensor<double> weight;     // (out, in)
  std::vector<double> bias;  // (out); empty: none

  Index out() const { return weight.dim(0); }
  Index in() const { return weight.dim(1); }
};

/// Rotary positions: pair i of a head at position p is turned by p * inv_freq[i]; features behind
/// the pairs stay as they are (Su et al. 2021, arXiv:2104.09864).
struct LayerRope {
  RopePairs pairs = RopePairs::kHalves;
  double base = 10000;           // inv_freq was made of
  RopeScaling scaling;           // and of, see ops/rope_scaling.h
  std::vector<double> inv_freq;  // (rotary_dim / 2)
  double attention_factor = 1;   // on cos and sin
  Index pos0 = 0;                // position of row 0, of queries and keys alike

  Index rotary_dim() const { return 2 * static_cast<Index>(inv_freq.size()); }
};

/// base^(-2i / rotary_dim), i < rotary_dim / 2.
std::vector<double> rope_inverse_frequencies(double base, Index rotary_dim);

/// A whole attention layer: four projections around an attention. Query head h is features
/// h * head_dim ... of q_proj's rows.
struct LayerProblem {
  Tensor<double> x;                       // (batch, q_len, dim)
  std::optional<Tensor<double>> context;  // (batch, kv_len, width): keys and values come from it
  Projection q_proj, k_proj, v_proj;
  std::optional<Projection> out_proj;  // none: the layer ends with the joined heads
  Index heads = 1;
  Index kv_heads = 1;
  std::optional<LayerRope> rope;
  AttentionProblem attention;  // rules and tables; q, k and v are empty

  const Tensor<double>& source() const { return context ? *context : x; }
  Index batch() const { return x.dim(0); }
  Index q_len() const { return x.dim(1); }
  Index kv_len() const { return source().dim(1); }
  Index head_dim() const { return q_proj.out() / heads; }
  Index value_dim() const { return v_proj.out() / kv_heads; }
};

/// What a layer computes, in order.
enum class LayerStep { kQ, kK, kV, kScores, kWeights, kHeads, kOutput };
inline constexpr std::size_t kLayerSteps = 7;
inline constexpr std::array<LayerStep, kLayerSteps> kAllLayerSteps = {
    LayerStep::kQ,       LayerStep::kK,     LayerStep::kV,     LayerStep::kScores,
    LayerStep::kWeights, LayerStep::kHeads, LayerStep::kOutput};

/// "q", "k", "v", "scores", "weights", "heads", "output".
const char* layer_step_name(LayerStep step);

/// One tensor for each step; those that nobody has are empty (rank 0).
struct LayerSteps {
  /// q, k, v (batch, heads, rows, features), q and k rotated; scores and weights (batch, heads,
  /// q_len, kv_len); heads (batch, q_len, heads * value_dim); output (batch, q_len, width).
  std::array<Tensor<double>, kLayerSteps> tensors;
  Tensor<double> q_projected, k_projected;  // before rope; where a computation keeps them

  Tensor<double>& operator[](LayerStep step) { return tensors[static_cast<std::size_t>(step)]; }
  const Tensor<double>& operator[](LayerStep step) const {
    return tensors[static_cast<std::size_t>(step)];
  }
  bool has(LayerStep step) const { return (*this)[step].rank() != 0; }
};

/// Where recorded queries and keys stand: before rope, after it, or whichever fits.
enum class QkStage { kEither, kProjected, kRotated };

/// A layer and what of its steps somebody recorded.
struct LayerCase {
  LayerProblem problem;
  LayerSteps recorded;
  std::array<DType, kLayerSteps> stored{};  // what each step was stored in
  QkStage qk_stage = QkStage::kEither;
  std::string x_is;  // where x comes from, for the report; may be empty

  LayerCase() { stored.fill(DType::kF64); }
};

/// Throws DataError, which names the tensor, unless everything fits together.
void validate(const LayerCase& layer);

/// The shape of each step's tensor.
Shape step_shape(const LayerProblem& problem, LayerStep step);

}  // namespace attn
