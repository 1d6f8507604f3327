#pragma once

#include <optional>

#include "cli/session.h"
#include "model/position_tables.h"
#include "posenc-dump/options.h"

namespace attn {

/// The part that tsv, csv and npy write: --table, else the tables' first; of rope cosines and sines
/// beside each other. UsageError for a part that there is not.
PositionPart chosen_part(const PosencOptions& options, const PositionTables& tables);

/// The tables in the format asked for, or their picture. `deviation` is what similarity measured.
void print_tables(const PosencOptions& options, const PositionTables& tables,
                  const PositionPart& part, std::optional<double> deviation, cli::Session& session);

}  // namespace attn
