#pragma once

#include "attn-check/options.h"
#include "cli/option_table.h"

namespace attn {

/// Throws UsageError for options that do not go together: options beside an input that is not there
/// would be ignored, and two ways of saying one thing would depend on their order.
void check_combinations(const cli::OptionTable& table, const CheckOptions& options);

}  // namespace attn
