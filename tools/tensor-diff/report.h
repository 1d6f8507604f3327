#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "tensor-diff/compare.h"

namespace attn {

/// One pair in a line: "/out: 12 of 96 numbers differ, the first at (0, 0, 5, 0)".
std::string deviation_text(const ComparedPair& pair);

/// The table of all pairs, what is related, and the verdict, in the format asked for.
void print_pairs(const DiffOptions& options, const std::vector<ComparedPair>& pairs,
                 cli::Session& session);

}  // namespace attn
