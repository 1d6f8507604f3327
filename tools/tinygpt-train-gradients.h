#pragma once

#include <string>
#include <vector>

#include "model/training_state.h"
#include "nn/param_store.h"

namespace attn {

/// Gradient norms by block, of the first and the last update that were logged: of a block's all
/// parameters, of what its attention and its MLP write into the residual (out_proj, fc2 or
/// down_proj). The table of Xiong et al. 2020 (arXiv:2002.04745), figure 3. Empty where nothing was
/// logged.
std::string gradient_table(const GradientLog& log, const std::vector<ParamInfo>& layout);

}  // namespace attn
