#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/index.h"

namespace attn {

/// Bytes of the tensors of a safetensors index (model.safetensors.index.json): its total_size.
/// Nothing where the text is no such index.
std::optional<Index> safetensors_index_bytes(std::string_view text, const std::string& name);

}  // namespace attn
