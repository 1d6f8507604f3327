#pragma once

#include <span>

#include "model/model_config.h"

namespace attn {

/// Throws UsageError, which calls the sequence `what`, where it is empty or holds an id outside
/// 0 .. vocab_size - 1.
void check_tokens(std::span<const Index> ids, Index vocab_size, const char* what);

/// Throws UsageError, naming both numbers, where the learned table has fewer rows than the sequence
/// called `what`.
void check_positions(const ModelConfig& config, std::span<const Index> ids, const char* what);

}  // namespace attn
