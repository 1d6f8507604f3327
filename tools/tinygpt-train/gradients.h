#pragma once

#include <string>
#include <vector>

#include "model/training_state.h"
#include "nn/param_store.h"

namespace attn {

/// Norms of one update's gradient: of all parameters of a block, or of what stands outside all
/// blocks, and of what attention and MLP write into the residual; 0 where there is none of these.
struct GradientNorms {
  std::string name;  // "blocks.0", "tokens"
  double all = 0;
  double attention = 0;  // out_proj.weight, of both attentions
  double mlp = 0;        // fc2.weight or down_proj.weight
};

/// In the order of the layout. `update` counts those that were logged, from 0.
std::vector<GradientNorms> gradient_norms(const GradientLog& log, std::size_t update,
                                          const std::vector<ParamInfo>& layout);

/// gradient_norms() of the first and the last update that were logged. The table of Xiong et al.
/// 2020 (arXiv:2002.04745), figure 3. Empty where nothing was logged.
std::string gradient_table(const GradientLog& log, const std::vector<ParamInfo>& layout);

}  // namespace attn
