#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/provenance.h"
#include "model/position_tables.h"
#include "posenc-dump/options.h"

namespace attn {

/// The positions that an option names: 0-49, 5,7,900 or FILE:/dataset. UsageError and DataError for
/// what is none.
std::vector<Index> positions_from(const std::string& value, const std::string& option,
                                  Index max_bytes);

/// `count` positions from `first` on.
std::vector<Index> positions_from(Index first, Index count);

/// Rope as options and --config say it, options over the file; head_dim 0 where neither says it.
/// The length of the sequence is --seq-len, else `last_position` + 1.
RopeSettings rope_settings(const PosencOptions& options, const cli::Session& session,
                           Index last_position);

/// The tables asked for, rounded; of learned ones the input's history goes to `provenance`.
PositionTables make_tables(const PosencOptions& options, const cli::Session& session,
                           Provenance& provenance);

}  // namespace attn
