#include "check/diagnose.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "check/suppositions.h"
#include "core/parallel.h"

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A twisted step rounds otherwise than the plain ones that the limits come from.
constexpr double kTwistedRoom = 4;
// Beyond this many times the limit no other rounding explains a difference.
constexpr double kHopeless = 1000;
// What all pairs of mistakes may cost together, in multiplications: some seconds. A weight's
// exponential, mask and memory take as long as its products over a hundred features (measured).
constexpr double kPairBudget = 1e10;
constexpr Index kWeightCost = 100;

bool failed(const Verdict& verdict, const std::string& name) {
  return std::any_of(verdict.checks.begin(), verdict.checks.end(), [&](const Check& check) {
    return check.name == name && check.outcome == Outcome::kFail;
  });
}

double largest(const Tensor<double>& tensor) {
  double size = 0;
  for (double value : tensor.values) {
    if (std::isfinite(value)) size = std::max(size, std::abs(value));
  }
  return size;
}

// The recorded tensor that suppositions are held against.
struct Subject {
  const Tensor<double>* given = nullptr;
  Tensor<double> AttentionAnswer::*part = nullptr;
  const Limits* allowed = nullptr;
};

Subject choose_subject(const Findings& f) {
  if (failed(f.verdict, "out")) return {&*f.recorded.out, &AttentionAnswer::out, &f.of_out};
  if (failed(f.verdict, "weights")) {
    return {&*f.recorded.weights, &AttentionAnswer::weights, &f.of_weights};
  }
  if (failed(f.verdict, "scores") && f.recorded.scores_stage == ScoreStage::kMasked) {
    return {&*f.recorded.scores, &AttentionAnswer::scores, &f.of_scores};
  }
  if (failed(f.verdict, "lse")) return {&*f.recorded.lse, &AttentionAnswer::lse, &f.of_lse};
  return {};
}

class Matcher {
 public:
  Matcher(const Findings& findings, const Subject& subject)
      : findings_(findings), subject_(subject), truth_size_(largest(truth())) {}

  bool fits(const Supposition& supposed) const {
    const AttentionProblem& problem = findings_.recorded.problem;
    const AttentionProblem seen = supposed.as_seen(problem);
    const AttentionAnswer answer = twisted_attention(seen, supposed.twist, supposed.parameter, 1);
    const Tensor<double>& expected = answer.*subject_.part;
    if (expected.shape != subject_.given->shape) return false;
    // A bigger answer carries bigger errors.
    const double growth = truth_size_ > 0 ? std::max(1.0, largest(expected) / truth_size_) : 1.0;
    const Limits grown{subject_.allowed->max_error * growth, subject_.allowed->mean_error * growth};
    const Check check = compare("", *subject_.given, expected, grown);
    if (check.outcome == Outcome::kPass) return true;
    const double ratio = check.ratio();
    if (supposed.twist != Twist::kNone) return ratio <= kTwistedRoom;
    if (!(ratio <= kHopeless)) return false;
    return compare("", *subject_.given, expected, honest(seen, expected)).outcome == Outcome::kPass;
  }

 private:
  const Tensor<double>& truth() const { return findings_.truth.*subject_.part; }

  Limits honest(const AttentionProblem& seen, const Tensor<double>& expected) const {
    const DType dtype = seen.rules.dtype;
    LimitFinder finder(expected, dtype);
    for (PlainOrder order : kPlainOrders) {
      finder.add(plain_attention(seen, dtype, order, false, true, 1).*subject_.part);
    }
    return finder.limits();
  }

  const Findings& findings_;
  const Subject subject_;
  const double truth_size_;
};

void add_name(const std::string& name, std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

std::vector<std::string> single_mistakes(const std::vector<Supposition>& all,
                                         const Matcher& matcher, int threads) {
  std::vector<char> fit(all.size());
  parallel_for(static_cast<Index>(all.size()), threads, [&](Index n, int) {
    const auto at = static_cast<std::size_t>(n);
    fit[at] = matcher.fits(all[at]) ? 1 : 0;
  });
  std::vector<std::string> names;
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (fit[n] != 0) add_name(all[n].name, names);
  }
  return names;
}

// The first two mistakes, in order of the list, that fit together.
std::vector<std::string> two_mistakes(const std::vector<Supposition>& all, const Matcher& matcher,
                                      double cost, int threads) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = 0; b < all.size(); ++b) {
      // What a mistake made of the problem another one may see otherwise: the order counts.
      const bool twist_first = all[a].twist != Twist::kNone;
      if (!twist_first && all[a].name != all[b].name) pairs.emplace_back(a, b);
    }
  }
  if (cost * static_cast<double>(pairs.size()) > kPairBudget) return {};
  std::vector<char> fit(pairs.size());
  parallel_for(static_cast<Index>(pairs.size()), threads, [&](Index n, int) {
    const auto at = static_cast<std::size_t>(n);
    const Supposition& first = all[pairs[at].first];
    Supposition both = all[pairs[at].second];
    both.as_seen = [&first, second = both.as_seen](const AttentionProblem& problem) {
      return second(first.as_seen(problem));
    };
    fit[at] = matcher.fits(both) ? 1 : 0;
  });
  const auto found = std::find(fit.begin(), fit.end(), 1);
  if (found == fit.end()) return {};
  const auto& pair = pairs[static_cast<std::size_t>(found - fit.begin())];
  return {all[pair.first].name, all[pair.second].name};
}

// The logarithm in base 2, or of the sum that the largest score was taken from.
void diagnose_lse(const Findings& f, std::vector<std::string>& names) {
  if (!failed(f.verdict, "lse")) return;
  Tensor<double> base2 = f.truth.lse;
  Tensor<double> no_max = f.truth.lse;
  const Index keys = f.recorded.problem.kv_len();
  for (Index row = 0; row < base2.size(); ++row) {
    base2.data()[row] *= 1.4426950408889634;
    const double* scores = f.truth.scores.data() + row * keys;
    if (keys > 0 && no_max.data()[row] != -kInfinity) {
      no_max.data()[row] -= *std::max_element(scores, scores + keys);
    }
  }
  const Limits doubled{2 * f.of_lse.max_error, 2 * f.of_lse.mean_error};
  const auto near = [&](const Tensor<double>& expected) {
    return compare("lse", *f.recorded.lse, expected, doubled).outcome == Outcome::kPass;
  };
  if (near(base2)) add_name("lse-base2", names);
  if (near(no_max)) add_name("lse-max-missing", names);
}

// What can be said without knowing how it came about.
void diagnose_by_laws(const Findings& f, std::vector<std::string>& names) {
  if (failed(f.verdict, "future-weights-zero") || failed(f.verdict, "causal-probe")) {
    names.emplace_back("causal-leak");
  }
  if (failed(f.verdict, "rows-sum-to-1")) names.emplace_back("rows-not-normalised");
  if (failed(f.verdict, "permutation")) names.emplace_back("not-equivariant");
  if (!f.recorded.out) return;
  for (std::size_t n = 0; n < f.truth.out.values.size(); ++n) {
    if (std::isfinite(f.truth.out.values[n]) && !std::isfinite(f.recorded.out->values[n])) {
      names.emplace_back("non-finite");
      return;
    }
  }
}

}  // namespace

std::vector<std::string> diagnose(const Findings& findings, int threads) {
  const AttentionProblem& problem = findings.recorded.problem;
  const Index maps = problem.batch() * problem.heads() * problem.q_len() * problem.kv_len();
  std::vector<std::string> names;
  if (findings.verdict.outcome() != Outcome::kFail) return names;
  const Subject subject = choose_subject(findings);
  if (subject.given != nullptr && maps <= kMostDiagnosed) {
    diagnose_lse(findings, names);
    const std::vector<Supposition> all = suppositions(problem);
    const Matcher matcher(findings, subject);
    for (const std::string& name : single_mistakes(all, matcher, threads)) add_name(name, names);
    const double cost = static_cast<double>(maps) *
                        static_cast<double>(problem.head_dim() + problem.value_dim() + kWeightCost);
    if (names.empty()) names = two_mistakes(all, matcher, cost, threads);
  }
  if (names.empty()) diagnose_by_laws(findings, names);
  if (names.empty()) names.emplace_back("numeric-error");
  return names;
}

}  // namespace attn
