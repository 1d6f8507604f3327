#pragma once

#include <optional>
#include <string>
#include <vector>

#include "check/verdict/diagnosis.h"
#include "check/verdict/metrics.h"
#include "core/index.h"

namespace attn {

enum class Outcome { kPass, kFail, kNotChecked };

/// One comparison or law with its figures.
struct Check {
  std::string name;
  Outcome outcome = Outcome::kNotChecked;
  double max_error = 0;  // infinite where a NaN or an infinity stands in the way
  double limit = 0;
  double mean_error = 0;
  double mean_limit = 0;           // 0 where the law has none
  std::vector<Index> where;        // index of the largest error
  std::vector<std::string> axes;   // what its axes are; empty: batch, head, row, column
  bool counts = true;              // false: shown, but another's word decides
  std::optional<Metrics> metrics;  // where two tensors were compared
  std::string note;                // why it was not checked, or a remark

  /// The error as a part of what is allowed, the worse of largest and mean.
  double ratio() const;
};

/// All checks of one subject. A law without data is no pass.
struct Verdict {
  std::vector<Check> checks;
  std::vector<Diagnosis> diagnosis;  // what explains a failure, the most specific first

  /// Fails if any check that counts does, passes if one was made at all.
  Outcome outcome() const;
};

/// Did the check of that name fail?
bool check_failed(const Verdict& verdict, const std::string& name);

/// A check that could not be made, and why.
Check not_checked(std::string name, std::string why);

/// "batch 0, head 5, row 0, column 47"; without names, as "(3, 4)", where the axes have none.
std::string place_text(const std::vector<Index>& where, const std::vector<std::string>& axes = {});
/// Axes of what has one number a row: lse, sums of weights.
inline const std::vector<std::string> kAxesOfRows = {"batch", "head", "row"};

/// "pass", "fail", "not checked".
const char* outcome_name(Outcome outcome);

}  // namespace attn
