#pragma once

#include <string>

#include "cli/terminal.h"
#include "model/position_tables.h"
#include "posenc-dump/options.h"

namespace attn {

/// A heat map of the tables, and four of their columns as curves; of alibi and t5 a map a head; of
/// similarities the map and the curve of the middle position's.
std::string tables_picture(const PosencOptions& options, const PositionTables& tables,
                           const cli::Terminal& terminal);

}  // namespace attn
