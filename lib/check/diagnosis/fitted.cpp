#include "check/diagnosis/fitted.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "check/mistakes/supposition_list.h"
#include "core/parallel.h"

namespace attn {

namespace {

using Problem = AttentionProblem;

constexpr Index kSteps = 60;         // of the first look, evenly on a logarithmic scale
constexpr std::size_t kValleys = 3;  // how many of the nearest are looked at closely
constexpr Index kHalvings = 70;      // golden sections: 0.618^70 is below a double's last place

// A mistake for each number.
struct Family {
  const char* name;
  double least, most;  // of the number's size
  double sign;
  std::function<Supposition(double number)> supposed;
};

// Where a function of a logarithm is least between two ends of a valley.
template <class Distance>
double nearest(const Distance& distance, double low, double high) {
  constexpr double kGolden = 0.6180339887498949;
  double a = high - kGolden * (high - low);
  double b = low + kGolden * (high - low);
  double at_a = distance(a);
  double at_b = distance(b);
  for (Index n = 0; n < kHalvings && high - low > 1e-14; ++n) {
    if (at_a <= at_b) {
      high = b;
      b = a;
      at_b = at_a;
      a = high - kGolden * (high - low);
      at_a = distance(a);
    } else {
      low = a;
      a = b;
      at_a = at_b;
      b = low + kGolden * (high - low);
      at_b = distance(b);
    }
  }
  return (low + high) / 2;
}

// The logarithms of the numbers from least to most where the function has its deepest valleys,
// the deepest first.
template <class Distance>
std::vector<double> valleys(const Distance& distance, double least, double most) {
  const double first = std::log(least);
  const double step = (std::log(most) - first) / static_cast<double>(kSteps);
  std::vector<std::pair<double, double>> looks;  // distance, logarithm
  for (Index n = 0; n <= kSteps; ++n) {
    const double logarithm = first + step * static_cast<double>(n);
    looks.emplace_back(distance(logarithm), logarithm);
  }
  std::vector<std::pair<double, double>> lowest;
  for (std::size_t n = 0; n < looks.size(); ++n) {
    const bool left = n == 0 || looks[n].first <= looks[n - 1].first;
    const bool right = n + 1 == looks.size() || looks[n].first <= looks[n + 1].first;
    if (left && right) lowest.push_back(looks[n]);
  }
  std::sort(lowest.begin(), lowest.end());
  std::vector<double> found;
  for (std::size_t n = 0; n < lowest.size() && n < kValleys; ++n) {
    found.push_back(nearest(distance, lowest[n].second - step, lowest[n].second + step));
  }
  return found;
}

std::optional<Supposition> fitted(const Matcher& matcher, const Problem& problem,
                                  const Family& family) {
  const auto distance = [&](double logarithm) {
    const Supposition one = family.supposed(family.sign * std::exp(logarithm));
    return matcher.distance(one.as_seen(problem), one.twist, one.parameter);
  };
  for (const double logarithm : valleys(distance, family.least, family.most)) {
    Supposition one = family.supposed(family.sign * std::exp(logarithm));
    if (matcher.fit(one) != Matcher::Fit::kNo) return one;
  }
  return std::nullopt;
}

Supposition changed(const char* name, std::string says, std::function<void(Problem&)> change) {
  Supposition one;
  one.name = name;
  one.detail = std::move(says);
  one.as_seen = [change = std::move(change)](const Problem& problem) {
    Problem seen = problem;
    change(seen);
    return seen;
  };
  return one;
}

Supposition hidden_by(Twist twist, double number, const char* says) {
  Supposition one;
  one.name = "mask-sentinel-finite";
  one.detail = fmt::format("{} {:.6g}", says, number);
  one.as_seen = [](const Problem& problem) { return problem; };
  one.twist = twist;
  one.parameter = number;
  return one.tells_rows();
}

std::vector<Family> families(const Problem& problem) {
  std::vector<Family> all;
  const double scale = problem.scale();
  const double size = scale == 0 ? 1 : std::abs(scale);
  all.push_back({"wrong-scale", size / 1e3, size * 1e3, 1, [scale](double number) {
                   return changed("wrong-scale",
                                  fmt::format("{:.6g} where {:.6g} was wanted", number, scale),
                                  [number](Problem& p) { p.rules.scale = number; });
                 }});
  const double cap = problem.rules.softcap;
  const std::string wanted = cap > 0 ? fmt::format("{:.6g} was wanted", cap) : "none was declared";
  all.push_back({"softcap", cap > 0 ? cap / 1e2 : 0.05, cap > 0 ? cap * 1e2 : 500, 1,
                 [cap, wanted](double number) {
                   return changed(cap > 0 ? "wrong-softcap" : "softcap-undeclared",
                                  fmt::format("a cap of {:.6g} where {}", number, wanted),
                                  [number](Problem& p) { p.rules.softcap = number; });
                 }});
  if (hides(problem)) {
    all.push_back({"mask-sentinel-finite", 0.1, 1e5, -1, [](double number) {
                     return hidden_by(Twist::kHiddenByNumber, number, "hidden scores are");
                   }});
    all.push_back({"mask-sentinel-finite", 0.1, 1e5, -1, [](double number) {
                     return hidden_by(Twist::kHiddenByAddition, number, "hidden scores have added");
                   }});
  }
  const bool several = (problem.mask ? 1 : 0) + (problem.rules.causal ? 1 : 0) +
                           (problem.rules.window_left >= 0 ? 1 : 0) >
                       1;
  const auto one_rule = [&all](Twist twist, const char* says) {
    all.push_back({"mask-sentinel-finite", 0.1, 1e5, -1,
                   [=](double number) { return hidden_by(twist, number, says); }});
  };
  if (several && problem.rules.causal) {
    one_rule(Twist::kLaterByNumber, "later keys' scores are");
    one_rule(Twist::kLaterByAddition, "later keys' scores have added");
  }
  if (several && problem.mask) {
    one_rule(Twist::kMaskedByNumber, "masked scores are");
    one_rule(Twist::kMaskedByAddition, "masked scores have added");
  }
  if (!problem.alibi_slopes.empty()) {
    all.push_back({"alibi-slopes", 1e-3, 1e3, 1, [](double factor) {
                     return changed("alibi-slopes",
                                    fmt::format("all slopes are {:.6g} times too large", factor),
                                    [factor](Problem& p) {
                                      for (double& slope : p.alibi_slopes) slope *= factor;
                                    });
                   }});
  }
  if (!problem.sinks.empty()) {
    all.push_back({"sink-scaled", 1e-3, 1e3, 1, [](double factor) {
                     return changed("sink-scaled",
                                    fmt::format("all sinks are {:.6g} times too large", factor),
                                    [factor](Problem& p) {
                                      for (double& sink : p.sinks) sink *= factor;
                                    });
                   }});
  }
  return all;
}

// Slopes of each head by itself: heads do not know of each other.
std::optional<Supposition> fitted_slopes(const Matcher& matcher, const Problem& problem) {
  if (problem.alibi_slopes.empty()) return std::nullopt;
  Problem tried = problem;
  std::string says;
  std::vector<double> slopes;
  for (Index h = 0; h < problem.heads(); ++h) {
    const auto head = static_cast<std::size_t>(h);
    const double wanted = problem.alibi_slopes[head];
    const double size = wanted == 0 ? 1 : std::abs(wanted);
    const auto distance = [&](double slope) {
      tried.alibi_slopes[head] = slope;
      return matcher.distance_of_head(tried, h);
    };
    const auto at_logarithm = [&](double logarithm) { return distance(std::exp(logarithm)); };
    std::vector<std::pair<double, double>> found = {{distance(wanted), wanted}, {distance(0), 0}};
    for (const double logarithm : valleys(at_logarithm, size / 1e4, size * 1e4)) {
      found.emplace_back(distance(std::exp(logarithm)), std::exp(logarithm));
    }
    slopes.push_back(std::min_element(found.begin(), found.end())->second);
    if (slopes.size() > 4) continue;
    says +=
        fmt::format("{}{:.6g} where {:.6g} was wanted", h == 0 ? "" : ", ", slopes.back(), wanted);
  }
  if (problem.heads() > 4) says += " ...";
  Supposition one = changed("alibi-slopes", "head by head " + says,
                            [slopes](Problem& p) { p.alibi_slopes = slopes; });
  if (matcher.fit(one) == Matcher::Fit::kNo) return std::nullopt;
  return one;
}

}  // namespace

std::vector<Diagnosis> fitted_mistakes(const Findings& findings, const Matcher& matcher,
                                       int threads) {
  const Problem& problem = findings.recorded.problem;
  const std::vector<Family> all = families(problem);
  std::vector<std::optional<Supposition>> fits(all.size() + 1);
  parallel_for(static_cast<Index>(fits.size()), threads, [&](Index n, int) {
    const auto at = static_cast<std::size_t>(n);
    fits[at] =
        at < all.size() ? fitted(matcher, problem, all[at]) : fitted_slopes(matcher, problem);
  });
  std::vector<Diagnosis> found;
  for (const std::optional<Supposition>& one : fits) {
    if (!one) continue;
    Diagnosis diagnosis{one->name, one->detail, DiagnosisKind::kMistake};
    if (one->rows_told) {
      const std::string rows = matcher.moved_rows(*one);
      if (!rows.empty()) diagnosis.detail += "; " + rows;
    }
    found.push_back(std::move(diagnosis));
  }
  return found;
}

}  // namespace attn
