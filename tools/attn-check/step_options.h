#pragma once

#include "attn-check/options.h"
#include "cli/option_table.h"

namespace attn {

/// The options of the modes that show what steps and heads do.
void declare_steps(cli::OptionTable& table, CheckOptions& options);

/// Throws UsageError where one of them, or another option beside them, would be ignored.
void check_step_options(const cli::OptionTable& table, const CheckOptions& options);

}  // namespace attn
