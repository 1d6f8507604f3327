#include "check/power.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "check/mistakes/suppositions.h"
#include "check/power_advice.h"
#include "check/verdict/explanations.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/text.h"

namespace attn {

namespace {

// Less than this part of the answer's size is the rounding of float64, and no other answer.
constexpr double kSame = 1e-12;

// What one supposed answer is to the truth.
struct Form {
  bool moves = false;  // the answer differs at all
  HouseDecision decision;
  bool ours = false;  // this program's own tolerance passes it
  std::string detail;
};

double largest(const Tensor<double>& tensor) {
  double size = 0;
  for (double value : tensor.values) {
    if (std::isfinite(value)) size = std::max(size, std::abs(value));
  }
  return size;
}

// A mistake that nobody needs to be told the name of: a kernel that writes nothing. Tests have
// passed it.
void add_zero_output(std::vector<Supposition>& all) {
  all.push_back({"constant-output",
                 [](const AttentionProblem& problem) {
                   AttentionProblem zero = problem;
                   std::fill(zero.v.values.begin(), zero.v.values.end(), 0);
                   return zero;
                 },
                 Twist::kNone, 0});
}

bool applies(const Supposition& supposed, DType dtype) {
  // A rule that nobody asked for is not the test's to find.
  if (supposed.name == "window-undeclared" || supposed.name == "causal-undeclared") return false;
  // A stand-in where one rule alone hides is as one where any does, for fewer keys.
  const Twist twist = supposed.twist;
  if (twist == Twist::kLaterByNumber || twist == Twist::kLaterByAddition ||
      twist == Twist::kMaskedByNumber || twist == Twist::kMaskedByAddition) {
    return false;
  }
  if (supposed.name != "fp16-overflow") return true;
  return dtype == DType::kF16 || dtype == DType::kF32;
}

// How near to passing: 1 is at the limit.
double closeness(const HouseDecision& decision) {
  if (decision.house.house == House::kPcc) {
    const double away = (1 - decision.found) / std::max(1 - decision.limit, 1e-12);
    return std::isnan(away) ? std::numeric_limits<double>::infinity() : away;
  }
  return decision.found / decision.limit;
}

MistakePower sum_up(const std::string& name, const std::vector<const Form*>& forms,
                    bool blind_to_some) {
  MistakePower power;
  power.name = name;
  const Form* nearest = nullptr;
  bool wide = false;
  for (const Form* form : forms) {
    if (!form->moves) continue;
    ++power.forms;
    if (!form->decision.pass) ++power.noticed;
    if (form->decision.pass && !form->ours) wide = true;
    const bool nearer =
        nearest == nullptr || closeness(form->decision) < closeness(nearest->decision);
    if (nearer) nearest = form;
  }
  if (nearest != nullptr) {
    power.found = nearest->decision.found;
    power.limit = nearest->decision.limit;
  }
  if (power.forms == 0) {
    power.forms = 1;
    power.notice = Notice::kUnnoticed;
  } else if (power.noticed == power.forms && !blind_to_some) {
    power.notice = Notice::kNoticed;
  } else {
    power.notice = power.noticed > 0 ? Notice::kPartly : Notice::kUnnoticed;
  }
  const bool passed = nearest != nullptr && nearest->decision.pass;
  if (passed && !nearest->detail.empty()) power.advice = fmt::format("{}: ", nearest->detail);
  if (wide) power.advice += "the tolerance is wide: --tolerance ours would notice; or ";
  return power;
}

}  // namespace

const char* notice_name(Notice notice) {
  switch (notice) {
    case Notice::kNoticed:
      return "noticed";
    case Notice::kPartly:
      return "partly";
    case Notice::kUnnoticed:
      return "unnoticed";
    case Notice::kNotApplicable:
      break;
  }
  return "not applicable";
}

std::vector<MistakePower> test_power(const AttentionProblem& problem, const HouseRule& house,
                                     int threads) {
  const Index extents[] = {problem.batch(), problem.heads(), problem.q_len(), problem.kv_len()};
  const auto maps = checked_product(extents);
  if (!maps || *maps > kMostForPower) {
    throw DataError(fmt::format("power: each mistake takes all {} weights, more than {}",
                                maps ? grouped(*maps) : "of them", grouped(kMostForPower)),
                    {"take fewer sequences, heads or rows: mistakes show in small cases too"});
  }
  const AttentionAnswer truth = reference_attention(problem, false, threads);
  const HouseJury jury(problem, truth, &AttentionAnswer::out, own_limits(problem, truth, threads),
                       threads);
  std::vector<Supposition> all = suppositions(problem);
  add_zero_output(all);
  all.erase(
      std::remove_if(all.begin(), all.end(),
                     [&](const Supposition& one) { return !applies(one, problem.rules.dtype); }),
      all.end());
  const double same = kSame * largest(truth.out);
  std::vector<Form> forms(all.size());
  parallel_for(static_cast<Index>(all.size()), threads, [&](Index n, int) {
    const auto at = static_cast<std::size_t>(n);
    const Tensor<double> out = all[at].answer(problem, 1).out;
    if (out.shape != truth.out.shape) return;
    forms[at].detail = all[at].detail;
    forms[at].moves = difference(out, truth.out).max_error > same;
    forms[at].decision = jury.decide(house, out);
    forms[at].ours = jury.decide({House::kOurs, 0}, out).pass;
  });
  const PowerFacts facts = power_facts(problem, threads);
  std::vector<std::string> order;
  std::map<std::string, std::vector<const Form*>> by_name;
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (by_name.count(all[n].name) == 0) order.push_back(all[n].name);
    by_name[all[n].name].push_back(&forms[n]);
  }
  // Every tiled kernel has tails and a maximum that rises, whatever these keys show of it.
  for (const char* name : {"tail-tile", "online-rescale"}) {
    if (problem.kv_len() > 0 && by_name.count(name) == 0) order.emplace_back(name);
  }
  std::vector<MistakePower> power;
  for (const std::string& name : order) {
    const bool blind = (name == "tail-tile" || name == "online-rescale") &&
                       !blind_tiles(problem.kv_len(), name == "online-rescale").empty();
    MistakePower one = sum_up(name, by_name[name], blind);
    if (one.notice == Notice::kNoticed) {
      one.advice.clear();
    } else {
      one.advice += power_advice(name, problem, facts);
    }
    power.push_back(std::move(one));
  }
  for (const Explanation& known : explanations()) {
    const std::string name(known.name);
    const bool there = std::find(order.begin(), order.end(), name) != order.end();
    MistakePower absent;
    absent.name = name;
    absent.advice = there ? "" : missing_for(name, problem);
    if (!absent.advice.empty()) power.push_back(std::move(absent));
  }
  return power;
}

bool any_unnoticed(const std::vector<MistakePower>& power) {
  return std::any_of(power.begin(), power.end(), [](const MistakePower& one) {
    return one.notice == Notice::kPartly || one.notice == Notice::kUnnoticed;
  });
}

}  // namespace attn
