#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "check/posenc/check_posenc.h"

namespace attn {

/// The largest error of one part against one way of making it.
struct PartError {
  double error = 0;  ///< absolute, or relative to the truth, as the part's limit is
  Index at = 0;      ///< of the first largest error, in row-major order

  /// Takes in one number; infinite where only one of the two is finite.
  void add(double given, double made, Index index, double unit = 1);
};

/// What `type` rounds off a number of this size beyond what f32 does.
double coarse_rounding(DType type, double size);

/// What an error of a part that is held to a part of itself is divided by: |truth|, 1 for 0, and no
/// less than the type's smallest number of full precision.
double relative_unit(DType type, double truth);

/// One check of a part that may be off by `limit`.
Check part_check(const PosencPart& part, const PartError& found, double limit);

/// Rows that show a mistake as well as all of them: at most `most`, evenly spread, and `worst`.
std::vector<Index> telling_rows(Index rows, Index worst, Index most = 48);

/// A mistake: a name, its numbers, and what it changes in the right way of making.
template <class Making>
struct PosencSupposition {
  std::string name;
  std::string detail;
  std::function<void(Making&)> apply;
};

/// What a search for mistakes works on. `fits(made, part, all)` says whether a way of making
/// explains a part within its limit; unless `all`, a few of its rows are enough.
template <class Making>
struct PosencSearch {
  Making right;
  std::vector<bool> failed;  ///< for each part
  std::function<bool(const Making&, std::size_t part, bool all)> fits;

  enum class Fit { kNo, kWhatFailed, kEverything };

  Fit fit(const Making& made) const {
    for (const bool all : {false, true}) {
      for (std::size_t part = 0; part < failed.size(); ++part) {
        if (failed[part] && !fits(made, part, all)) return Fit::kNo;
      }
    }
    for (std::size_t part = 0; part < failed.size(); ++part) {
      if (!failed[part] && !fits(made, part, false)) return Fit::kWhatFailed;
    }
    return Fit::kEverything;
  }

  /// Every single mistake that explains all parts; where none does, those that explain the parts
  /// that failed. One of each name.
  std::vector<Diagnosis> singles(const std::vector<PosencSupposition<Making>>& list) const {
    std::vector<Diagnosis> whole, partial;
    for (const PosencSupposition<Making>& each : list) {
      Making made = right;
      each.apply(made);
      const Fit found = fit(made);
      if (found == Fit::kNo) continue;
      std::vector<Diagnosis>& into = found == Fit::kEverything ? whole : partial;
      bool named = false;
      for (const Diagnosis& other : into) named = named || other.name == each.name;
      if (!named) into.push_back({each.name, each.detail, DiagnosisKind::kMistake});
    }
    return whole.empty() ? partial : whole;
  }

  /// The first two mistakes that explain what failed together.
  std::vector<Diagnosis> pair(const std::vector<PosencSupposition<Making>>& list) const {
    for (std::size_t a = 0; a < list.size(); ++a) {
      for (std::size_t b = a + 1; b < list.size(); ++b) {
        if (list[a].name == list[b].name) continue;
        Making made = right;
        list[a].apply(made);
        list[b].apply(made);
        if (fit(made) == Fit::kNo) continue;
        const auto told = [](const auto& one, const auto& other) {
          return Diagnosis{one.name, one.detail + "; together with " + other.name,
                           DiagnosisKind::kTogether};
        };
        return {told(list[a], list[b]), told(list[b], list[a])};
      }
    }
    return {};
  }
};

/// The checks of each kind of case, and the names of what explains a failure.
Verdict check_sinusoidal(const PosencCase& c, bool diagnose);
Verdict check_rope(const PosencCase& c, bool diagnose);
Verdict check_alibi(const PosencCase& c, bool diagnose);
Verdict check_t5(const PosencCase& c, bool diagnose);

}  // namespace attn
