#pragma once

#include <optional>
#include <string>

#include "check/layer/layer_case.h"

namespace attn {

/// What this library's own layer (nn/attention, float32) makes of a problem; no scores, which it
/// never writes down. Where it has no such layer (windows, sinks, masks over rows ...) nothing, and
/// `why` says what stands in the way.
std::optional<LayerSteps> kernel_layer(const LayerProblem& problem, std::string& why);

}  // namespace attn
