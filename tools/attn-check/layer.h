#pragma once

#include "attn-check/options.h"
#include "check/layer/check_layer.h"
#include "cli/session.h"
#include "io/tensor_file.h"

namespace attn {

/// Datasets under other names, those of the layer among them.
CaseNames layer_names(const CheckOptions& options);

/// Checks a file of a whole layer (check/layer/layer_file), step by step. The exit code.
int run_layer(const TensorFile& file, const CheckOptions& options, cli::Session& session);

/// Writes --output and the report on a layer; `history` is the input's. The exit code.
int report_layer(const std::string& name, const std::string& history, const LayerCase& layer,
                 const LayerReport& found, const CheckOptions& options, cli::Session& session);

}  // namespace attn
