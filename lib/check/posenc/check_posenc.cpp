#include "check/posenc/check_posenc.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "check/posenc/posenc_fit.h"
#include "check/verdict/tolerance.h"

namespace attn {
namespace {

Verdict checked(const PosencCase& c, bool diagnose) {
  switch (c.kind) {
    case PosencKind::kSinusoidal:
      return check_sinusoidal(c, diagnose);
    case PosencKind::kRope:
      return check_rope(c, diagnose);
    case PosencKind::kAlibi:
      return check_alibi(c, diagnose);
    case PosencKind::kT5:
      break;
  }
  return check_t5(c, diagnose);
}

}  // namespace

Verdict check_posenc(const PosencCase& c) {
  Verdict verdict = checked(c, true);
  if (verdict.outcome() == Outcome::kFail && verdict.diagnosis.empty()) {
    verdict.diagnosis.push_back(
        {"numeric-error", "no known mistake gives these numbers", DiagnosisKind::kUnknown});
  }
  return verdict;
}

bool posenc_passes(const PosencCase& c) {
  return checked(c, false).outcome() == Outcome::kPass;
}

void PartError::add(double given, double made, Index index, double unit) {
  double gap = 0;
  if (std::isnan(given) && std::isnan(made)) return;
  if (given != made) gap = std::abs(given - made) / unit;
  if (std::isnan(gap)) gap = std::numeric_limits<double>::infinity();
  if (gap <= error) return;
  error = gap;
  at = index;
}

double coarse_rounding(DType type, double size) {
  const double own = storage_rounding(type);
  return own > storage_rounding(DType::kF32) ? own * size : 0;
}

double relative_unit(DType type, double truth) {
  if (truth == 0) return 1;
  const double smallest = type == DType::kF16 ? 0x1p-14 : 0;
  return std::max(std::abs(truth), smallest);
}

Check part_check(const PosencPart& part, const PartError& found, double limit) {
  Check check;
  check.name = part.name;
  check.max_error = found.error;
  check.limit = limit;
  check.outcome = found.error <= limit ? Outcome::kPass : Outcome::kFail;
  check.where = place_of(found.at, part.values.shape);
  return check;
}

std::vector<Index> telling_rows(Index rows, Index worst, Index most) {
  std::vector<Index> chosen;
  const Index count = std::min(rows, most);
  for (Index n = 0; n < count; ++n) chosen.push_back(count < 2 ? n : n * (rows - 1) / (count - 1));
  if (worst < rows) chosen.insert(chosen.begin(), worst);
  return chosen;
}

}  // namespace attn
