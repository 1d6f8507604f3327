#include <algorithm>
#include <cmath>

#include "check/posenc/posenc_fit.h"
#include "check/posenc/posenc_rope.h"
#include "check/posenc/posenc_suppositions.h"
#include "check/verdict/tolerance.h"

namespace attn {
namespace {

constexpr double kFrequencyPart = 1e-6;

PartError frequency_error(const PosencPart& part, const RopeAngles& angles) {
  PartError error;
  const std::vector<double>& want = angles.inv_freq;
  if (part.values.size() != static_cast<Index>(want.size())) return {HUGE_VAL, 0};
  for (std::size_t i = 0; i < want.size(); ++i) {
    error.add(part.values.values[i], want[i], static_cast<Index>(i),
              relative_unit(part.stored, want[i]));
  }
  return error;
}

// One column a pair, or one a feature.
void add_table_row(const PosencPart& part, const RopeMaking& made, const std::vector<double>& row,
                   Index r, PartError& error) {
  const Index half = made.rules.rotary_dim / 2;
  const Index width = part.values.dim(1);
  for (Index c = 0; c < width; ++c) {
    const Index angle = width == half ? c : angle_of(made.layout, c, half);
    const Index at = r * width + c;
    error.add(part.values.data()[at], row[static_cast<std::size_t>(angle)], at);
  }
}

void add_turned_row(const PosencPart& part, const PosencCase& c, const RopeMaking& made,
                    const RopeRow& row, Index r, PartError& error) {
  const Index width = made.rules.head_dim;
  const Index rows = c.x->dim(-2);
  std::vector<double> turned(static_cast<std::size_t>(width));
  const double position = made.positions[static_cast<std::size_t>(r)];
  for (Index lead = 0; lead < c.x->size() / (rows * width); ++lead) {
    const Index at = (lead * rows + r) * width;
    rope_turn(made, row, position, c.x->data() + at, turned.data());
    for (Index f = 0; f < width; ++f) {
      error.add(part.values.data()[at + f], turned[static_cast<std::size_t>(f)], at + f);
    }
  }
}

PartError error_of(const PosencPart& part, const PosencCase& c, const RopeMaking& made,
                   const RopeAngles& angles, const std::vector<Index>& rows, double enough) {
  if (part.name == "inv_freq") return frequency_error(part, angles);
  const Index half = made.rules.rotary_dim / 2;
  const bool table = part.name != "y";
  if (table && part.values.dim(1) != half && part.values.dim(1) != 2 * half) return {HUGE_VAL, 0};
  PartError error;
  for (const Index r : rows) {
    const RopeRow row = rope_row(made, angles, made.positions[static_cast<std::size_t>(r)]);
    if (table) {
      add_table_row(part, made, part.name == "cos" ? row.cos : row.sin, r, error);
    } else {
      add_turned_row(part, c, made, row, r, error);
    }
    if (error.error > enough) break;
  }
  return error;
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double value : values) {
    if (std::isfinite(value)) most = std::max(most, std::abs(value));
  }
  return most;
}

double limit_of(const PosencPart& part, const PosencCase& c, const RopeAngles& angles) {
  if (part.name == "inv_freq") return kFrequencyPart + coarse_rounding(part.stored, 1);
  const double factor = angles.attention_factor;
  const double limit = phase_limit(largest(c.positions) * largest(angles.inv_freq) * factor);
  if (part.name != "y") return limit + coarse_rounding(part.stored, factor);
  const double size = largest(c.x->values);
  return 2 * size * limit + coarse_rounding(part.stored, std::sqrt(2.0) * size * factor);
}

// The row in which a part is worst; 0 for frequencies.
Index row_of(const Check& check) {
  return check.name == "inv_freq" ? 0 : check.where[check.where.size() - 2];
}

}  // namespace

Verdict check_rope(const PosencCase& c, bool diagnose) {
  PosencSearch<RopeMaking> search;
  search.right = right_rope(c);
  const RopeAngles right = rope_angles(search.right);
  std::vector<Index> everywhere;
  for (std::size_t r = 0; r < c.positions.size(); ++r) everywhere.push_back(static_cast<Index>(r));
  Verdict verdict;
  std::vector<std::vector<Index>> some;
  for (const PosencPart& part : c.parts) {
    const PartError found = error_of(part, c, search.right, right, everywhere, HUGE_VAL);
    verdict.checks.push_back(part_check(part, found, limit_of(part, c, right)));
    Check& check = verdict.checks.back();
    const bool shape = std::isinf(found.error) && part.name != "y" &&
                       part.values.dim(-1) != c.rope.rotary_dim / 2 &&
                       part.values.dim(-1) != c.rope.rotary_dim;
    if (shape) check.note = "as many columns as pairs were wanted";
    search.failed.push_back(check.outcome == Outcome::kFail);
    some.push_back(telling_rows(static_cast<Index>(everywhere.size()), row_of(check)));
  }
  if (!c.unchecked.empty()) verdict.checks.push_back(not_checked("y", c.unchecked));
  if (!diagnose || verdict.outcome() != Outcome::kFail) return verdict;
  search.fits = [&](const RopeMaking& made, std::size_t at, bool all) {
    const PosencPart& part = c.parts[at];
    const double limit = limit_of(part, c, right);
    return error_of(part, c, made, rope_angles(made), all ? everywhere : some[at], limit).error <=
           limit;
  };
  const auto list = rope_suppositions(c);
  verdict.diagnosis = search.singles(list);
  if (verdict.diagnosis.empty()) verdict.diagnosis = search.singles(rope_fits(c));
  if (verdict.diagnosis.empty()) verdict.diagnosis = search.pair(without_roundings(list));
  return verdict;
}

}  // namespace attn
