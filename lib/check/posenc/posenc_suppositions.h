#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "check/posenc/posenc_alibi.h"
#include "check/posenc/posenc_fit.h"
#include "check/posenc/posenc_rope.h"
#include "check/posenc/posenc_sinusoidal.h"
#include "check/posenc/posenc_t5.h"

namespace attn {

// The known mistakes of each kind, the most specific first; and those whose numbers the tables
// themselves tell (another base, a constant factor, any shift), tried where no other fits.

std::vector<PosencSupposition<SinusoidalMaking>> sinusoidal_suppositions(const PosencCase& c);
std::vector<PosencSupposition<SinusoidalMaking>> sinusoidal_fits();

std::vector<PosencSupposition<RopeMaking>> rope_suppositions(const PosencCase& c);
/// Those of rope_suppositions that stretch the frequencies, or fail to.
std::vector<PosencSupposition<RopeMaking>> rope_scaling_suppositions(const PosencCase& c);
std::vector<PosencSupposition<RopeMaking>> rope_fits(const PosencCase& c);

std::vector<PosencSupposition<AlibiMaking>> alibi_suppositions(const PosencCase& c);
std::vector<PosencSupposition<T5Making>> t5_suppositions(const PosencCase& c);

/// Every way of keeping part of a phase in 16 bits, for the field `rounding` of a making.
struct NamedRounding {
  std::string detail;
  PhaseRounding rounding;
};
std::vector<NamedRounding> phase_roundings();

/// Other positions than the right ones: shifted, counted from the start, all the same place.
struct NamedPositions {
  std::string detail;
  std::vector<double> positions;
};
std::vector<NamedPositions> other_positions(const std::vector<double>& right);
/// Shifts beyond those that other_positions tries, and what is said of one.
std::vector<double> far_shifts();
std::string shift_text(double by);

/// Other exponents than 2i/d.
struct NamedExponent {
  std::string detail;
  ExponentRule rule;
};
std::vector<NamedExponent> other_exponents();

/// The list without rounded phases: for trying pairs.
template <class Making>
std::vector<PosencSupposition<Making>> without_roundings(
    std::vector<PosencSupposition<Making>> list) {
  list.erase(std::remove_if(list.begin(), list.end(),
                            [](const auto& each) { return each.name == "low-precision-phase"; }),
             list.end());
  return list;
}

}  // namespace attn
