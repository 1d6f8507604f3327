#include <fmt/core.h>

#include <cmath>

#include "check/posenc/posenc_fit.h"
#include "check/posenc/posenc_sinusoidal.h"
#include "check/posenc/posenc_suppositions.h"

namespace attn {
namespace {

PartError table_error(const PosencPart& table, const SinusoidalMaking& made,
                      const std::vector<Index>& rows, double enough) {
  PartError error;
  const Index dim = made.rules.dim;
  for (const Index r : rows) {
    const double p = made.positions[static_cast<std::size_t>(r)];
    for (Index c = 0; c < dim; ++c) {
      const Index at = r * dim + c;
      error.add(table.values.data()[at], sinusoidal_value(made, p, c), at);
    }
    if (error.error > enough) break;
  }
  return error;
}

std::vector<Index> all_rows(Index count) {
  std::vector<Index> rows;
  for (Index r = 0; r < count; ++r) rows.push_back(r);
  return rows;
}

}  // namespace

Verdict check_sinusoidal(const PosencCase& c, bool diagnose) {
  const SinusoidalMaking right = right_sinusoidal(c);
  const PosencPart& table = c.parts.front();
  const double limit = phase_limit(largest_phase(right)) + coarse_rounding(table.stored, 1);
  const std::vector<Index> everywhere = all_rows(table.values.dim(0));
  const PartError found = table_error(table, right, everywhere, HUGE_VAL);
  Verdict verdict;
  verdict.checks.push_back(part_check(table, found, limit));
  if (!diagnose || found.error <= limit) return verdict;
  const std::vector<Index> some = telling_rows(table.values.dim(0), found.at / right.rules.dim);
  PosencSearch<SinusoidalMaking> search;
  search.right = right;
  search.failed = {true};
  search.fits = [&](const SinusoidalMaking& made, std::size_t, bool all) {
    return table_error(table, made, all ? everywhere : some, limit).error <= limit;
  };
  const auto list = sinusoidal_suppositions(c);
  verdict.diagnosis = search.singles(list);
  if (verdict.diagnosis.empty()) verdict.diagnosis = search.singles(sinusoidal_fits());
  if (verdict.diagnosis.empty()) verdict.diagnosis = search.pair(without_roundings(list));
  return verdict;
}

}  // namespace attn
