// Mistakes about the rotation of queries and keys in a layer.

#include <fmt/format.h>

#include <utility>

#include "check/layer/layer_supposition_list.h"

namespace attn {

namespace {

using Problem = LayerProblem;

LayerTwist ropes(std::optional<RopeTwist> q, std::optional<RopeTwist> k,
                 std::optional<RopeTwist> v = std::nullopt) {
  LayerTwist twist;
  twist.own_ropes = true;
  twist.q_rope = std::move(q);
  twist.k_rope = std::move(k);
  twist.v_rope = std::move(v);
  return twist;
}

LayerRope with_base(LayerRope rope, double base, Index rotary_dim) {
  rope.base = base;
  rope.inv_freq = rope_inverse_frequencies(base, rotary_dim);
  return rope;
}

}  // namespace

void suppose_rotation(LayerList& list) {
  const Problem& given = list.problem();
  if (!given.rope) {
    if (given.context || given.head_dim() % 2 != 0) return;
    for (RopePairs pairs : {RopePairs::kHalves, RopePairs::kInterleaved}) {
      LayerRope rope;
      rope.pairs = pairs;
      const RopeTwist turned{with_base(rope, rope.base, given.head_dim())};
      list.twisted("rope-unwanted", pairs == RopePairs::kHalves ? "half-split" : "interleaved",
                   ropes(turned, turned));
    }
    return;
  }
  const RopeTwist right{*given.rope};
  list.twisted("rope-missing", "", ropes(std::nullopt, std::nullopt));
  list.twisted("rope-missing", "on q", ropes(std::nullopt, right));
  list.twisted("rope-missing", "on k", ropes(right, std::nullopt));
  list.twisted("rope-on-values", "", ropes(right, right, right));
  RopeTwist other = right;
  other.rope.pairs =
      right.rope.pairs == RopePairs::kHalves ? RopePairs::kInterleaved : RopePairs::kHalves;
  list.twisted("rope-convention", "", ropes(other, other));
  list.twisted("rope-convention", "of q alone", ropes(other, right));
  list.twisted("rope-convention", "of k alone", ropes(right, other));
  other = right;
  other.mixed = true;
  list.twisted("rope-mixed-pairing", "", ropes(other, other));
  other = right;
  other.direction = -1;
  list.twisted("rotation-sign", "", ropes(other, other));
  other = right;
  other.times = 2;
  list.twisted("rope-twice", "", ropes(other, other));
  list.twisted("rope-twice", "on k", ropes(right, other));
  list.twisted("rope-twice", "on q", ropes(other, right));
  for (const Index shift : {Index{1}, Index{-1}, -given.rope->pos0}) {
    if (shift == 0) continue;
    other = right;
    other.rope.pos0 += shift;
    const std::string detail = fmt::format("from position {} on", other.rope.pos0);
    list.twisted("position-offset", "q " + detail, ropes(other, right));
    list.twisted("position-offset", "k " + detail, ropes(right, other));
    list.twisted("position-offset", detail, ropes(other, other));
  }
  for (const double base : {1e4, 5e5, 1e6, 1e5, 1e3, 100.0}) {
    other = right;
    other.rope = with_base(*given.rope, base, given.rope->rotary_dim());
    list.twisted("rope-base", fmt::format("base {}", base), ropes(other, other));
  }
  if (given.rope->rotary_dim() < given.head_dim() && given.head_dim() % 2 == 0) {
    other = right;
    other.rope = with_base(*given.rope, given.rope->base, given.head_dim());
    list.twisted("rotary-dim", "all features are turned", ropes(other, other));
    other.rope.inv_freq.resize(right.rope.inv_freq.size());
    list.twisted("rotary-dim", "exponent over head_dim", ropes(other, other));
  }
  other = right;
  other.rope.attention_factor = 1;
  list.twisted("attention-factor", "", ropes(other, other));
  other.rope = with_base(*given.rope, given.rope->base, given.rope->rotary_dim());
  list.twisted("scaling-ignored", "", ropes(other, other));
  other.rope.attention_factor = 1;
  list.twisted("scaling-ignored", "", ropes(other, other));
  if (!given.q_proj.bias.empty() || !given.k_proj.bias.empty()) {
    LayerTwist twist;
    twist.bias_after_rope = true;
    list.twisted("rope-before-bias", "", twist);
  }
}

}  // namespace attn
