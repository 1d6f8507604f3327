#include "check/diagnosis/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "check/diagnosis/causal_leak.h"
#include "check/diagnosis/fitted.h"
#include "check/diagnosis/matcher.h"
#include "check/diagnosis/symptoms.h"
#include "core/parallel.h"

namespace attn {

namespace {

// What all pairs of mistakes may cost together, in numbers touched: about two seconds (measured).
constexpr double kPairBudget = 2e9;
// Rows that a pair is tried on before it is given up, on average, and what a weight costs beside
// its products: an exponential, mask and memory.
constexpr double kRowsTried = 2;
constexpr double kWeightCost = 100;
constexpr std::size_t kMostPairs = 3;
// Fits of one name beyond these are not spelled out.
constexpr int kMostDetails = 3;

using Fit = Matcher::Fit;

// Several suppositions of one name make one diagnosis.
class Collection {
 public:
  void add(const Diagnosis& one) {
    const auto same = std::find_if(found_.begin(), found_.end(),
                                   [&](const Diagnosis& other) { return other.name == one.name; });
    if (same == found_.end()) {
      found_.push_back(one);
      details_.push_back(1);
      return;
    }
    if (one.detail.empty() || same->detail.find(one.detail) != std::string::npos) return;
    int& count = details_[static_cast<std::size_t>(same - found_.begin())];
    if (++count <= kMostDetails) same->detail += (same->detail.empty() ? "" : "; or ") + one.detail;
  }
  void add(const std::vector<Diagnosis>& all) {
    for (const Diagnosis& one : all) add(one);
  }
  bool empty() const { return found_.empty(); }
  std::vector<Diagnosis> take() { return std::move(found_); }

 private:
  std::vector<Diagnosis> found_;
  std::vector<int> details_;
};

Diagnosis named(const Supposition& supposed, const Matcher& matcher) {
  Diagnosis one{supposed.name, supposed.detail, DiagnosisKind::kMistake};
  if (supposed.rows_told) {
    const std::string rows = matcher.moved_rows(supposed);
    if (!rows.empty()) one.detail += "; " + rows;
  }
  return one;
}

// Only fully hidden rows differ and hold the mean: no finite stand-in has moved another row.
bool contradicts(const std::string& name, const std::set<std::string>& fitting) {
  return name == "mask-sentinel-finite" && fitting.count("fully-masked-mean") > 0;
}

std::vector<Diagnosis> single_mistakes(const std::vector<Supposition>& all, const Matcher& matcher,
                                       int threads) {
  std::vector<Fit> fits(all.size(), Fit::kNo);
  parallel_for(static_cast<Index>(all.size()), threads, [&](Index n, int) {
    const auto at = static_cast<std::size_t>(n);
    fits[at] = matcher.fit(all[at]);
  });
  std::set<std::string> fitting;
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (fits[n] != Fit::kNo) fitting.insert(all[n].name);
  }
  Collection found;
  for (const Fit wanted : {Fit::kAll, Fit::kSubject}) {
    for (std::size_t n = 0; n < all.size(); ++n) {
      if (fits[n] == wanted && !contradicts(all[n].name, fitting)) {
        found.add(named(all[n], matcher));
      }
    }
  }
  return found.take();
}

struct Pair {
  std::size_t first, second;
};

std::string with_other(const Supposition& one, const Supposition& other) {
  return fmt::format("{}{}together with {}", one.detail, one.detail.empty() ? "" : "; ",
                     other.name);
}

double pair_cost(const AttentionProblem& problem) {
  const auto size = [](const Tensor<double>& tensor) { return static_cast<double>(tensor.size()); };
  const double maps = static_cast<double>(problem.batch() * problem.heads() * problem.q_len()) *
                      static_cast<double>(problem.kv_len());
  const double features = static_cast<double>(problem.head_dim() + problem.value_dim());
  const double row = static_cast<double>(problem.kv_len()) * (features + kWeightCost);
  // Copies of the tensors for the second mistake, often a mask, and the rows.
  return 2000 + 2 * (size(problem.q) + size(problem.k) + size(problem.v)) + 2 * maps +
         kRowsTried * row;
}

// All pairs of suppositions that may be told together, or, where these cost too much, of the first
// of each name; none where those do as well.
std::vector<Pair> pairs_of(const std::vector<Supposition>& all, const AttentionProblem& problem) {
  const double most = kPairBudget / pair_cost(problem);
  for (bool first_of_name : {false, true}) {
    std::vector<std::size_t> tried;
    std::set<std::string> names;
    for (std::size_t n = 0; n < all.size(); ++n) {
      if (!all[n].with_others) continue;
      if (!names.insert(all[n].name).second && first_of_name) continue;
      tried.push_back(n);
    }
    std::vector<Pair> pairs;
    for (const std::size_t a : tried) {
      for (const std::size_t b : tried) {
        // What a mistake made of the problem another one may see otherwise: the order counts.
        if (all[a].twist == Twist::kNone && all[a].name != all[b].name) pairs.push_back({a, b});
      }
    }
    if (static_cast<double>(pairs.size()) <= most) return pairs;
  }
  return {};
}

// The first pairs of mistakes, in order of the list, that fit together.
std::vector<Diagnosis> two_mistakes(const std::vector<Supposition>& all,
                                    const std::vector<Pair>& pairs, const AttentionProblem& problem,
                                    const Matcher& matcher, int threads) {
  std::vector<char> fit(pairs.size());
  std::vector<std::size_t> starts;  // of the pairs that share their first mistake
  for (std::size_t n = 0; n < pairs.size(); ++n) {
    if (n == 0 || pairs[n].first != pairs[n - 1].first) starts.push_back(n);
  }
  parallel_for(static_cast<Index>(starts.size()), threads, [&](Index task, int) {
    const auto at = static_cast<std::size_t>(task);
    const std::size_t end = at + 1 < starts.size() ? starts[at + 1] : pairs.size();
    const AttentionProblem seen = all[pairs[starts[at]].first].as_seen(problem);
    for (std::size_t n = starts[at]; n < end; ++n) {
      fit[n] = matcher.fit(seen, all[pairs[n].second]) != Fit::kNo ? 1 : 0;
    }
  });
  Collection found;
  std::set<std::set<std::string>> told;
  for (std::size_t n = 0; n < pairs.size(); ++n) {
    const Supposition& first = all[pairs[n].first];
    const Supposition& second = all[pairs[n].second];
    if (fit[n] == 0 || told.size() == kMostPairs) continue;
    if (!told.insert({first.name, second.name}).second) continue;
    found.add({first.name, with_other(first, second), DiagnosisKind::kTogether});
    found.add({second.name, with_other(second, first), DiagnosisKind::kTogether});
  }
  return found.take();
}

// What stands where nothing named fits.
Diagnosis unknown(const Findings& findings, bool pairs_tried, int threads) {
  Diagnosis one{"numeric-error", coarser_arithmetic(findings, threads), DiagnosisKind::kUnknown};
  if (one.detail.empty()) {
    one.detail = pairs_tried ? "no mistake with a name, and no two of them, give this"
                             : "no single mistake with a name gives this; two together were not "
                               "tried, the maps are too large";
  }
  return one;
}

}  // namespace

std::vector<Diagnosis> diagnose(const Findings& findings, int threads) {
  const AttentionProblem& problem = findings.recorded.problem;
  const Index maps = problem.batch() * problem.heads() * problem.q_len() * problem.kv_len();
  if (findings.verdict.outcome() != Outcome::kFail) return {};
  const std::optional<Subject> subject = choose_subject(findings);
  Collection found;
  bool pairs_tried = true;
  if (subject && maps <= kMostDiagnosed) {
    found.add(lse_mistakes(findings));
    const std::vector<Supposition> all = suppositions(problem);
    const Matcher matcher(findings, *subject);
    found.add(single_mistakes(all, matcher, threads));
    if (found.empty()) found.add(fitted_mistakes(findings, matcher, threads));
    if (found.empty()) {
      if (const auto leak = leaking_rows(findings, threads)) found.add(*leak);
    }
    if (found.empty()) {
      const std::vector<Diagnosis> shown = symptoms(findings);
      const bool explained = std::any_of(shown.begin(), shown.end(), [](const Diagnosis& one) {
        return one.name == "row-constant" || one.name == "rows-not-normalised" ||
               one.name == "constant-output";
      });
      const std::vector<Pair> pairs = pairs_of(all, problem);
      pairs_tried = !pairs.empty();
      if (!explained) found.add(two_mistakes(all, pairs, problem, matcher, threads));
      if (found.empty()) found.add(shown);
    }
  } else {
    found.add(symptoms(findings));
  }
  if (found.empty()) found.add(unknown(findings, pairs_tried, threads));
  return found.take();
}

}  // namespace attn
