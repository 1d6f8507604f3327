#include "check/house_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn {

namespace {

bool same(const HouseRule& a, const HouseRule& b) {
  return house_name(a) == house_name(b);
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t n = 0; n < names.size(); ++n) {
    if (n > 0) text += n + 1 == names.size() ? " and " : ", ";
    text += names[n];
  }
  return text;
}

// The limits that the check of that name had.
Limits limits_of(const Verdict& verdict, const std::string& name) {
  for (const Check& check : verdict.checks) {
    if (check.name == name) return {check.limit, check.mean_limit};
  }
  return {};
}

}  // namespace

const HouseDecision& HouseReport::decision() const {
  for (const HouseDecision& one : decisions) {
    if (same(one.house, chosen)) return one;
  }
  return decisions.front();
}

std::optional<HouseReport> ask_houses(const AttentionCase& recorded, const AttentionReport& found,
                                      const HouseRule& chosen, int threads) {
  HouseReport report;
  HouseJury::Part part = &AttentionAnswer::out;
  const Tensor<double>* given = nullptr;
  if (recorded.out) {
    report.tensor = "out";
    given = &*recorded.out;
  } else if (recorded.weights && found.truth.weights.rank() != 0) {
    report.tensor = "weights";
    part = &AttentionAnswer::weights;
    given = &*recorded.weights;
  } else if (recorded.lse) {
    report.tensor = "lse";
    part = &AttentionAnswer::lse;
    given = &*recorded.lse;
  }
  if (given == nullptr || given->size() == 0 || (found.truth.*part).shape != given->shape) {
    return {};
  }
  report.chosen = chosen;
  const HouseJury jury(recorded.problem, found.truth, part, limits_of(found.verdict, report.tensor),
                       threads);
  std::vector<HouseRule> rules = all_houses();
  if (chosen.house == House::kPcc) rules.back() = chosen;
  for (const HouseRule& rule : rules) report.decisions.push_back(jury.decide(rule, *given));
  report.remark = house_remark(report.decisions, chosen);
  return report;
}

void decide_as(const HouseReport& houses, Verdict& verdict) {
  if (houses.chosen.house == House::kOurs) return;
  const HouseDecision& decision = houses.decision();
  for (Check& check : verdict.checks) {
    check.counts = check.name == houses.tensor;
    if (!check.counts) continue;
    check.outcome = decision.pass ? Outcome::kPass : Outcome::kFail;
    check.note = fmt::format("decided by {}", house_name(decision.house));
  }
}

std::string house_remark(const std::vector<HouseDecision>& decisions, const HouseRule& chosen) {
  bool pass = false;
  for (const HouseDecision& one : decisions) {
    if (same(one.house, chosen)) pass = one.pass;
  }
  std::vector<std::string> others;
  for (const HouseDecision& one : decisions) {
    if (one.pass != pass) others.push_back(house_name(one.house));
  }
  if (others.empty()) return fmt::format("all houses {} this", pass ? "pass" : "fail");
  return fmt::format("{} would {} this", joined(others), pass ? "fail" : "pass");
}

}  // namespace attn
