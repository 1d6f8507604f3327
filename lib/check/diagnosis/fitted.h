#pragma once

#include <optional>
#include <vector>

#include "check/diagnosis/matcher.h"

namespace attn {

/// Mistakes with a number that nobody can list: a scale, a cap, a stand-in for minus infinity. The
/// number is found by looking where the tried rows come nearest, and then the mistake has to fit as
/// every other one does. Only asked for what no listed number explains.
std::vector<Diagnosis> fitted_mistakes(const Findings& findings, const Matcher& matcher,
                                       int threads);

}  // namespace attn
