#include "model/token_checks.h"

#include <fmt/core.h>

#include "core/error.h"

namespace attn {

void check_tokens(std::span<const Index> ids, Index vocab_size, const char* what) {
  if (ids.empty()) {
    throw UsageError(fmt::format("the {} is empty: at least one token is needed", what));
  }
  for (const Index id : ids) {
    if (id < 0 || id >= vocab_size) {
      throw UsageError(
          fmt::format("the {} has token id {}, which is not in the vocabulary: 0 to {}", what, id,
                      vocab_size - 1));
    }
  }
}

void check_positions(const ModelConfig& config, std::span<const Index> ids, const char* what) {
  const auto longest = config.longest_sequence();
  const auto length = static_cast<Index>(ids.size());
  if (longest && length > *longest) {
    throw UsageError(
        fmt::format("{}, the {} has {} tokens", config.longest_sequence_reason(), what, length));
  }
}

}  // namespace attn
