#include "nn/block.h"

#include "ops/vector.h"

namespace attn {
namespace {

AttentionConfig crossing(AttentionConfig config) {
  config.cross = true;
  return config;
}

// The two placements, once for all three parts of a block. `part` is forward of what stands in
// the residual; its result is its own, so dropout and the sum are taken in place. It may be of
// fewer rows than x: of `kept`, which are `rows`.
template <class T, class Part>
Matrix<T> residual(const Pass<T>& pass, NormPlacement placement, const Norm<T>& norm, In<T> x,
                   In<T> kept, const Sequences& rows, NormTape<T>* tape, const Part& part) {
  const bool pre = placement == NormPlacement::kPre;
  Matrix<T> sum = part(pre ? norm.forward(pass, x, tape) : x);
  drop_sequences<T>(pass.dropout, norm.weight(), rows, sum);
  // Of one number, in multiplications: memory is what it waits for.
  constexpr Index kAddition = 32;
  for_row_blocks(pass, sum.rows(), kAddition * sum.cols(), [&](Index row, Index count) {
    add<T>(kept.row_block(row, count), sum.row_block(row, count));
  });
  return pre ? sum : norm.forward(pass, sum, tape);
}

// The gradient by what a part made, from that by the residual's sum.
template <class T>
In<T> before_dropout(const BackwardPass<T>& pass, const Norm<T>& norm, const Sequences& rows,
                     In<T> d_sum) {
  if (pass.dropout == nullptr) return d_sum;
  Matrix<T> d_part = pass.arena.template zeros<T>(d_sum.rows(), d_sum.cols());
  add<T>(d_sum, d_part);
  drop_sequences<T>(pass.dropout, norm.weight(), rows, d_part);
  return d_part;
}

// part(d_y, d_x) adds the gradient of what stands in the residual.
template <class T, class Part>
void residual_backward(const BackwardPass<T>& pass, NormPlacement placement, const Norm<T>& norm,
                       const Sequences& rows, const NormTape<T>& tape, In<T> d_y, Matrix<T> d_x,
                       const Part& part) {
  const Arena::Scope scope(pass.arena);
  Matrix<T> between = pass.arena.template zeros<T>(d_y.rows(), d_y.cols());
  if (placement == NormPlacement::kPre) {
    // y = x + drop(part(norm(x)))
    add<T>(d_y, d_x);
    part(before_dropout(pass, norm, rows, d_y), between);
    norm.backward(pass, tape, between, d_x);
  } else {
    // y = norm(x + drop(part(x)))
    norm.backward(pass, tape, d_y, between);
    add<T>(between, d_x);
    part(before_dropout(pass, norm, rows, between), d_x);
  }
}

}  // namespace

template <class T>
Block<T>::Block(ParamStore<T>& store, const std::string& name, const BlockConfig& config,
                std::shared_ptr<const Rotary<T>> rotary)
    : placement_(config.norm),
      norm1_(store, name + ".norm1", config.attention.dim, config.norm_type, config.norm_eps,
             config.norm_bias),
      attn_(store, name + ".attn", config.attention, rotary),
      norm_cross_(config.cross ? std::optional<Norm<T>>(std::in_place, store, name + ".norm_cross",
                                                        config.attention.dim, config.norm_type,
                                                        config.norm_eps, config.norm_bias)
                               : std::nullopt),
      cross_attn_(config.cross
                      ? std::optional<Attention<T>>(std::in_place, store, name + ".cross_attn",
                                                    crossing(config.attention))
                      : std::nullopt),
      norm2_(store, name + ".norm2", config.attention.dim, config.norm_type, config.norm_eps,
             config.norm_bias),
      mlp_(store, name + ".mlp", config.attention.dim, config.mlp_hidden, config.activation,
           config.mlp_bias, config.attention.residual_additions) {}

template <class T>
Matrix<T> Block<T>::forward(const Pass<T>& pass, In<T> x, const Sequences& rows,
                            const Context<T>* context, KvSlot<T>* self_slot, KvSlot<T>* cross_slot,
                            BlockTape<T>* tape, RowsWanted wanted) const {
  require_shape(cross_attn_.has_value() == (context != nullptr), "block: context");
  const bool last = wanted == RowsWanted::kLast;
  const Matrix<const T> kept = last ? last_rows(x, rows) : x;
  const Sequences left = last ? Sequences{rows.batch, 1, nullptr} : rows;
  Matrix<const T> y = residual<T>(pass, placement_, norm1_, x, kept, left,
                                  tape ? &tape->norm1 : nullptr, [&](In<T> part) {
                                    return attn_.forward(pass, part, rows, nullptr, self_slot,
                                                         tape ? &tape->attn : nullptr, wanted);
                                  });
  if (cross_attn_) {
    y = residual<T>(pass, placement_, *norm_cross_, y, y, left, tape ? &tape->norm_cross : nullptr,
                    [&](In<T> part) {
                      return cross_attn_->forward(pass, part, left, context, cross_slot,
                                                  tape ? &tape->cross_attn : nullptr);
                    });
  }
  return residual<T>(
      pass, placement_, norm2_, y, y, left, tape ? &tape->norm2 : nullptr,
      [&](In<T> part) { return mlp_.forward(pass, part, tape ? &tape->mlp : nullptr); });
}

template <class T>
void Block<T>::backward(const BackwardPass<T>& pass, const BlockTape<T>& tape, In<T> d_y,
                        Matrix<T> d_x, Matrix<T> d_context) const {
  const Arena::Scope scope(pass.arena);
  const Sequences& rows = tape.attn.rows;
  Matrix<T> d_before_mlp = pass.arena.template zeros<T>(d_y.rows(), d_y.cols());
  residual_backward<T>(
      pass, placement_, norm2_, rows, tape.norm2, d_y, d_before_mlp,
      [&](In<T> d_part, Matrix<T> d_in) { mlp_.backward(pass, tape.mlp, d_part, d_in); });
  Matrix<T> d_before_cross = d_before_mlp;
  if (cross_attn_) {
    d_before_cross = pass.arena.template zeros<T>(d_y.rows(), d_y.cols());
    residual_backward<T>(pass, placement_, *norm_cross_, rows, tape.norm_cross, d_before_mlp,
                         d_before_cross, [&](In<T> d_part, Matrix<T> d_in) {
                           cross_attn_->backward(pass, tape.cross_attn, d_part, d_in, d_context);
                         });
  }
  residual_backward<T>(
      pass, placement_, norm1_, rows, tape.norm1, d_before_cross, d_x,
      [&](In<T> d_part, Matrix<T> d_in) { attn_.backward(pass, tape.attn, d_part, d_in, {}); });
}

template class Block<float>;
template class Block<double>;

}  // namespace attn
