#pragma once

#include <string>
#include <vector>

#include "check/cases/case_attributes.h"

namespace attn {

/// A case that fails with something assumed: what would have to be said for it to pass, as options
/// ("--causal", "--layout bshd"); empty where nothing that was left open would do. Each is one
/// whole check; cases of more than 2^20 weights are not tried.
std::vector<std::string> what_would_pass(const AttentionCase& recorded, const CaseAttributes& given,
                                         int threads);

}  // namespace attn
