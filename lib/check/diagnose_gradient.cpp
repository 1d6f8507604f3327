#include "check/diagnose_gradient.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "check/mistakes/gradient_suppositions.h"
#include "core/parallel.h"

namespace attn {

namespace {

// Weights of all heads together up to which mistakes are tried: each takes maps of its own.

struct Part {
  const char* name;
  std::optional<Tensor<double>> GradientRecord::*given;
  Tensor<double> AttentionGradient::*answer;
  Limits GradientLimits::*allowed;
};
constexpr std::array<Part, 3> kParts = {
    Part{"dq", &GradientRecord::d_q, &AttentionGradient::d_q, &GradientLimits::d_q},
    Part{"dk", &GradientRecord::d_k, &AttentionGradient::d_k, &GradientLimits::d_k},
    Part{"dv", &GradientRecord::d_v, &AttentionGradient::d_v, &GradientLimits::d_v}};

using Fit = std::array<bool, kParts.size()>;

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

void add_name(const std::string& name, std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

class GradientMatcher {
 public:
  explicit GradientMatcher(const GradientFindings& findings)
      : findings_(findings), record_(*findings.recorded.gradient) {
    for (std::size_t n = 0; n < kParts.size(); ++n) {
      truth_size_[n] = largest(findings.truth.*kParts[n].answer);
    }
  }

  // Which of the recorded tensors an answer gives; true of those that were not recorded.
  Fit fit(const AttentionGradient& answer) const {
    Fit fits{};
    for (std::size_t n = 0; n < kParts.size(); ++n) {
      const auto& given = record_.*kParts[n].given;
      fits[n] = !given || near(*given, answer.*kParts[n].answer, n);
    }
    return fits;
  }

 private:
  bool near(const Tensor<double>& given, const Tensor<double>& expected, std::size_t part) const {
    if (given.shape != expected.shape) return false;
    // A bigger answer carries bigger errors.
    const double size = truth_size_[part];
    const double growth = size > 0 ? std::max(1.0, largest(expected) / size) : 1.0;
    const Limits& allowed = findings_.allowed.*kParts[part].allowed;
    const Limits grown{allowed.max_error * growth, allowed.mean_error * growth};
    return compare("", given, expected, grown).outcome == Outcome::kPass;
  }

  const GradientFindings& findings_;
  const GradientRecord& record_;
  std::array<double, kParts.size()> truth_size_{};
};

// Is a tensor the truth times one factor (0 among them)? By least squares.
bool is_multiple(const Tensor<double>& given, const Tensor<double>& truth, const Limits& allowed) {
  double product = 0;
  double square = 0;
  for (std::size_t n = 0; n < truth.values.size(); ++n) {
    if (!std::isfinite(given.values[n])) return false;
    product += given.values[n] * truth.values[n];
    square += truth.values[n] * truth.values[n];
  }
  if (square == 0) return false;
  const double factor = product / square;
  Tensor<double> scaled = truth;
  for (double& value : scaled.values) value *= factor;
  const double growth = std::max(1.0, std::abs(factor));
  return compare("", given, scaled, {allowed.max_error * growth, allowed.mean_error * growth})
             .outcome == Outcome::kPass;
}

void diagnose_parts(const GradientFindings& f, const std::vector<GradientSupposition>& all,
                    const std::vector<Fit>& fits, std::vector<std::string>& names) {
  for (std::size_t part = 0; part < kParts.size(); ++part) {
    if (!failed(f.verdict, kParts[part].name)) continue;
    bool found = false;
    for (std::size_t n = 0; n < all.size() && !found; ++n) {
      found = fits[n][part];
      for (std::size_t k = 0; found && k < all[n].names.size(); ++k) {
        add_name(all[n].names[k], names);
      }
    }
    const Tensor<double>& given = *(f.recorded.gradient.value().*kParts[part].given);
    if (!found &&
        is_multiple(given, f.truth.*kParts[part].answer, f.allowed.*kParts[part].allowed)) {
      add_name("gradient-scaled", names);
    }
  }
}

void diagnose_non_finite(const GradientFindings& f, std::vector<std::string>& names) {
  for (const Part& part : kParts) {
    const auto& given = f.recorded.gradient.value().*part.given;
    if (!given || !failed(f.verdict, part.name)) continue;
    if (std::all_of(given->values.begin(), given->values.end(),
                    [](double value) { return std::isfinite(value); })) {
      continue;
    }
    add_name("non-finite", names);
  }
}

}  // namespace

std::vector<std::string> diagnose_gradient(const GradientFindings& findings, int threads) {
  const AttentionProblem& problem = findings.recorded.problem;
  std::vector<std::string> names;
  const bool any = std::any_of(kParts.begin(), kParts.end(), [&](const Part& part) {
    return failed(findings.verdict, part.name);
  });
  if (!any) return names;
  const Index maps = problem.batch() * problem.heads() * problem.q_len() * problem.kv_len();
  if (maps <= kMostGradientsTried) {
    const std::vector<GradientSupposition> all =
        gradient_suppositions(problem, findings.recorded.gradient->d_out, findings.truth,
                              failed(findings.verdict, "out"));
    const GradientMatcher matcher(findings);
    std::vector<Fit> fits(all.size());
    parallel_for(static_cast<Index>(all.size()), threads, [&](Index n, int) {
      const auto at = static_cast<std::size_t>(n);
      fits[at] = matcher.fit(all[at].answer());
    });
    for (std::size_t n = 0; n < all.size(); ++n) {
      if (!std::all_of(fits[n].begin(), fits[n].end(), [](bool fit) { return fit; })) continue;
      for (const std::string& name : all[n].names) add_name(name, names);
    }
    if (names.empty()) diagnose_parts(findings, all, fits, names);
  }
  if (names.empty()) diagnose_non_finite(findings, names);
  if (names.empty()) names.emplace_back("numeric-error");
  return names;
}

}  // namespace attn
