#pragma once

#include <optional>
#include <string>

#include "cli/option_table.h"
#include "core/index.h"

namespace attn {

/// What the command line says of the quality of number types.
struct QualityOptions {
  std::string text;  // empty: another mode
  std::optional<double> val_fraction;
  std::optional<Index> window;
  bool types_given = false;  // --k-dtype or --v-dtype

  bool wanted() const { return !text.empty(); }
};

void declare_quality(cli::OptionTable& table, QualityOptions& options);
/// Throws UsageError for options that do not go together.
void check_quality(const cli::OptionTable& table, QualityOptions& options);

}  // namespace attn
