#include "check/verdict/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/text.h"

namespace attn {

namespace {

double part_of(double error, double limit) {
  if (error == 0) return 0;
  return limit > 0 ? error / limit : std::numeric_limits<double>::infinity();
}

}  // namespace

double Check::ratio() const {
  const double largest = part_of(max_error, limit);
  return mean_limit > 0 ? std::max(largest, part_of(mean_error, mean_limit)) : largest;
}

Outcome Verdict::outcome() const {
  Outcome all = Outcome::kNotChecked;
  for (const Check& check : checks) {
    if (!check.counts) continue;
    if (check.outcome == Outcome::kFail) return Outcome::kFail;
    if (check.outcome == Outcome::kPass) all = Outcome::kPass;
  }
  return all;
}

bool check_failed(const Verdict& verdict, const std::string& name) {
  return std::any_of(verdict.checks.begin(), verdict.checks.end(), [&](const Check& check) {
    return check.name == name && check.outcome == Outcome::kFail;
  });
}

Check not_checked(std::string name, std::string why) {
  Check check;
  check.name = std::move(name);
  check.note = std::move(why);
  return check;
}

std::string place_text(const std::vector<Index>& where, const std::vector<std::string>& axes) {
  static const std::vector<std::string> usual = {"batch", "head", "row", "column"};
  const std::vector<std::string>& names = axes.empty() ? usual : axes;
  if (where.size() != names.size()) return shape_text(where);
  std::string text;
  for (std::size_t axis = 0; axis < where.size(); ++axis) {
    text += fmt::format("{}{} {}", axis == 0 ? "" : ", ", names[axis], where[axis]);
  }
  return text;
}

const char* outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return "pass";
    case Outcome::kFail:
      return "fail";
    case Outcome::kNotChecked:
      break;
  }
  return "not checked";
}

}  // namespace attn
