#pragma once

#include <memory>
#include <optional>
#include <string>

#include "nn/attention.h"
#include "nn/mlp.h"
#include "nn/norm.h"

namespace attn {

/// Where the norm of a residual stands. kPre: x + f(norm(x)); kPost: norm(x + f(x)).
enum class NormPlacement { kPre, kPost };

struct BlockConfig {
  AttentionConfig attention;  // of the self-attention; cross-attention differs only in `cross`
  bool cross = false;         // a cross-attention between the two
  Index mlp_hidden = 0;
  bool mlp_bias = true;
  MlpActivation activation = MlpActivation::kGelu;
  NormPlacement norm = NormPlacement::kPre;
  NormType norm_type = NormType::kLayerNorm;
  double norm_eps = 1e-5;
  bool norm_bias = true;  // of layer norms
};

/// What backward needs of one block.
template <class T>
struct BlockTape {
  NormTape<T> norm1, norm_cross, norm2;
  AttentionTape<T> attn, cross_attn;
  MlpTape<T> mlp;
};

/// Self-attention, cross-attention where there is a context, MLP; each with its residual, whose
/// branch dropout acts on before the sum (Vaswani et al. 2017, section 5.4).
template <class T>
class Block {
 public:
  /// Registers name.norm1, name.attn, (name.norm_cross, name.cross_attn,) name.norm2, name.mlp.
  Block(ParamStore<T>& store, const std::string& name, const BlockConfig& config,
        std::shared_ptr<const Rotary<T>> rotary);

  /// x (rows, dim) -> the same shape. Slots and tape may be null; context is null without
  /// cross-attention. Of kLast the result is (rows.batch, dim), as Attention's.
  Matrix<T> forward(const Pass<T>& pass, In<T> x, const Sequences& rows, const Context<T>* context,
                    KvSlot<T>* self_slot, KvSlot<T>* cross_slot, BlockTape<T>* tape,
                    RowsWanted wanted = RowsWanted::kAll) const;

  /// Adds to the parameters' gradients, to d_x and, with cross-attention, to d_context.
  void backward(const BackwardPass<T>& pass, const BlockTape<T>& tape, In<T> d_y, Matrix<T> d_x,
                Matrix<T> d_context) const;

 private:
  NormPlacement placement_;
  Norm<T> norm1_;
  Attention<T> attn_;
  std::optional<Norm<T>> norm_cross_;
  std::optional<Attention<T>> cross_attn_;
  Norm<T> norm2_;
  Mlp<T> mlp_;
};

}  // namespace attn
