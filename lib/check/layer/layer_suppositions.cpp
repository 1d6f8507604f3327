#include "check/layer/layer_suppositions.h"

#include <fmt/format.h>

#include <utility>

#include "check/layer/layer_reference.h"
#include "check/layer/layer_supposition_list.h"

namespace attn {

namespace {

using Problem = LayerProblem;

void suppose_cuts(LayerList& list) {
  const Problem& given = list.problem();
  if (given.heads == 1) return;
  for (HeadCut cut : {HeadCut::kFeatures, HeadCut::kNoTranspose}) {
    const char* how = cut == HeadCut::kFeatures ? "features before heads" : "no transpose";
    if (cut == HeadCut::kNoTranspose && given.q_len() == 1 && given.kv_len() == 1) continue;
    LayerTwist twist;
    twist.split = cut;
    list.twisted("head-split", how, twist);
    twist.join = cut;
    list.twisted("head-split", fmt::format("{}, and joined alike", how), twist);
    twist.split = HeadCut::kHeads;
    list.twisted("head-merge", how, twist);
  }
}

void suppose_sources(LayerList& list, const std::optional<Tensor<double>>& raw_x) {
  const Problem& given = list.problem();
  if (raw_x) list.seen("norm-missing", "", [x = *raw_x](Problem& p) { p.x = x; });
  if (!given.context) return;
  const bool same_length = given.q_len() == given.kv_len();
  const bool free = !given.attention.mask && given.attention.kv_lens.empty();
  if (given.context->dim(2) == given.x.dim(2) && (same_length || free)) {
    list.seen("context-ignored", "", [](Problem& p) { p.context = p.x; });
  }
}

void suppose_ends(LayerList& list) {
  const Problem& given = list.problem();
  LayerTwist twist;
  if (given.out_proj && given.out_proj->out() == given.out_proj->in()) {
    twist.no_out_proj = true;
    list.twisted("out-proj-missing", "", twist);
  }
  twist = {};
  if (step_shape(given, LayerStep::kOutput) == given.x.shape) {
    twist.residual = true;
    list.twisted("residual-added", "", twist);
  }
}

void suppose_attention(LayerList& list) {
  const Problem& given = list.problem();
  const AttentionProblem between =
      attention_between(given, Tensor<double>(step_shape(given, LayerStep::kQ)),
                        Tensor<double>(step_shape(given, LayerStep::kK)),
                        Tensor<double>(step_shape(given, LayerStep::kV)));
  for (Supposition& supposed : suppositions(between)) {
    LayerSupposition one;
    one.name = supposed.name;
    one.detail = supposed.detail;
    one.twist.attention = std::move(supposed);
    list.add(std::move(one));
  }
}

}  // namespace

std::vector<LayerSupposition> layer_suppositions(const LayerProblem& problem,
                                                 const std::optional<Tensor<double>>& raw_x) {
  LayerList list(problem);
  suppose_projections(list);
  suppose_cuts(list);
  suppose_rotation(list);
  suppose_sources(list, raw_x);
  suppose_ends(list);
  suppose_attention(list);
  return list.take();
}

}  // namespace attn
