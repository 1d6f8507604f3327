#include <cmath>

#include "check/posenc/posenc_alibi.h"
#include "check/posenc/posenc_fit.h"
#include "check/posenc/posenc_suppositions.h"

namespace attn {
namespace {

// Slopes and biases are held to a part of themselves: a bias is a slope times a whole number.
constexpr double kPart = 1e-6;

PartError slopes_error(const PosencPart& part, const AlibiMaking& made) {
  PartError error;
  for (Index h = 0; h < part.values.size(); ++h) {
    const double slope = made.slopes[static_cast<std::size_t>(h)];
    error.add(part.values.data()[h], slope, h, relative_unit(part.stored, slope));
  }
  return error;
}

PartError bias_error(const PosencPart& part, const AlibiMaking& made) {
  PartError error;
  const Index n = part.values.dim(1);
  const Index m = part.values.dim(2);
  for (Index h = 0; h < part.values.dim(0); ++h) {
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < m; ++j) {
        if (made.rules.causal && j > i + m - n) continue;
        const double bias = alibi_bias(made, h, i, j, n, m);
        const Index at = (h * n + i) * m + j;
        error.add(part.values.data()[at], bias, at, relative_unit(part.stored, bias));
      }
    }
  }
  return error;
}

PartError error_of(const PosencPart& part, const AlibiMaking& made) {
  return part.name == "slopes" ? slopes_error(part, made) : bias_error(part, made);
}

}  // namespace

Verdict check_alibi(const PosencCase& c, bool diagnose) {
  PosencSearch<AlibiMaking> search;
  search.right = right_alibi(c);
  const auto limit_of = [](const PosencPart& part) {
    return kPart + coarse_rounding(part.stored, 1);
  };
  Verdict verdict;
  for (const PosencPart& part : c.parts) {
    verdict.checks.push_back(part_check(part, error_of(part, search.right), limit_of(part)));
    search.failed.push_back(verdict.checks.back().outcome == Outcome::kFail);
  }
  if (!diagnose || verdict.outcome() != Outcome::kFail) return verdict;
  search.fits = [&](const AlibiMaking& made, std::size_t part, bool) {
    return error_of(c.parts[part], made).error <= limit_of(c.parts[part]);
  };
  const auto list = alibi_suppositions(c);
  verdict.diagnosis = search.singles(list);
  if (verdict.diagnosis.empty()) verdict.diagnosis = search.pair(list);
  return verdict;
}

}  // namespace attn
