#include "check/layer/diagnose_layer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "check/layer/layer_suppositions.h"
#include "core/parallel.h"

namespace attn {

namespace {

// Beyond the limit, since a mistaken step rounds otherwise than the right ones.
constexpr double kRoom = 4;
// What all suppositions, or all pairs, may cost together, in multiplications: some seconds.
constexpr double kBudget = 2e10;

double largest(const Tensor<double>& tensor) {
  double size = 0;
  for (double value : tensor.values) {
    if (std::isfinite(value)) size = std::max(size, std::abs(value));
  }
  return size;
}

double cost_of(const LayerProblem& problem) {
  const auto number = [](Index count) { return static_cast<double>(count); };
  const double rows = number(problem.batch() * problem.q_len());
  const double keys = number(problem.batch() * problem.kv_len());
  const double heads = number(problem.heads);
  double cost = rows * number(problem.q_proj.weight.size()) +
                keys * number(problem.k_proj.weight.size() + problem.v_proj.weight.size());
  if (problem.out_proj) cost += rows * number(problem.out_proj->weight.size());
  // A weight's exponential and memory take as long as its products over a hundred features.
  return cost + rows * number(problem.kv_len()) * heads *
                    number(problem.head_dim() + problem.value_dim() + 100);
}

class LayerMatcher {
 public:
  explicit LayerMatcher(const LayerFindings& findings) : findings_(findings) {
    for (LayerStep step : kAllLayerSteps) {
      sizes_[static_cast<std::size_t>(step)] = largest(findings.truth[step]);
    }
  }

  bool fits(const LayerSteps& answer, LayerStep step, double room) const {
    const QkStage stage = findings_.layer.qk_stage;
    const bool turns = step == LayerStep::kQ || step == LayerStep::kK;
    if (turns && stage != QkStage::kRotated && findings_.layer.problem.rope) {
      const Tensor<double>& projected =
          step == LayerStep::kQ ? answer.q_projected : answer.k_projected;
      if (near(projected, step, room)) return true;
      if (stage == QkStage::kProjected) return false;
    }
    return near(answer[step], step, room);
  }

  bool fits_all(const LayerSteps& answer, double room) const {
    return std::all_of(kAllLayerSteps.begin(), kAllLayerSteps.end(), [&](LayerStep step) {
      return !findings_.layer.recorded.has(step) || fits(answer, step, room);
    });
  }

 private:
  bool near(const Tensor<double>& expected, LayerStep step, double room) const {
    const Tensor<double>& given = findings_.as_was[step];
    if (given.shape != expected.shape) return false;
    // A bigger answer carries bigger errors.
    const double size = sizes_[static_cast<std::size_t>(step)];
    const double growth = (size > 0 ? std::max(1.0, largest(expected) / size) : 1.0) * room;
    const Limits& allowed = findings_.allowed[step];
    return compare("", given, expected, {allowed.max_error * growth, allowed.mean_error * growth})
               .outcome == Outcome::kPass;
  }

  const LayerFindings& findings_;
  std::array<double, kLayerSteps> sizes_{};
};

void add(const LayerSupposition& supposed, std::vector<Diagnosis>& found) {
  const auto same = [&](const Diagnosis& one) { return one.name == supposed.name; };
  if (std::none_of(found.begin(), found.end(), same)) {
    found.push_back({supposed.name, supposed.detail, DiagnosisKind::kMistake});
  }
}

// Runs task(n) for all and returns which were true.
template <class Task>
std::vector<char> tried(std::size_t count, int threads, const Task& task) {
  std::vector<char> fit(count);
  parallel_for(static_cast<Index>(count), threads, [&](Index n, int) {
    const auto at = static_cast<std::size_t>(n);
    fit[at] = task(at) ? 1 : 0;
  });
  return fit;
}

bool plain(const LayerSupposition& supposed) {
  return static_cast<bool>(supposed.change);
}

void two_mistakes(const LayerProblem& problem, const std::vector<LayerSupposition>& all,
                  const LayerMatcher& matcher, int threads, std::vector<Diagnosis>& found) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = 0; b < all.size(); ++b) {
      if (!plain(all[a]) || all[a].name == all[b].name || (plain(all[b]) && b < a)) continue;
      pairs.emplace_back(a, b);
    }
  }
  if (cost_of(problem) * static_cast<double>(pairs.size()) > kBudget) return;
  const std::vector<char> fit = tried(pairs.size(), threads, [&](std::size_t n) {
    LayerProblem seen = problem;
    all[pairs[n].first].change(seen);
    return matcher.fits_all(all[pairs[n].second].answer(seen, {}, 1), 1);
  });
  const auto first = std::find(fit.begin(), fit.end(), 1);
  if (first == fit.end()) return;
  const auto& pair = pairs[static_cast<std::size_t>(first - fit.begin())];
  found = {{all[pair.first].name, all[pair.first].detail, DiagnosisKind::kTogether},
           {all[pair.second].name, all[pair.second].detail, DiagnosisKind::kTogether}};
}

}  // namespace

std::vector<Diagnosis> diagnose_layer(const LayerFindings& findings, int threads) {
  const LayerProblem& problem = findings.layer.problem;
  const std::vector<LayerSupposition> all = layer_suppositions(problem, findings.raw_x);
  std::vector<Diagnosis> found;
  if (cost_of(problem) * static_cast<double>(all.size()) > kBudget) {
    return {{"numeric-error", "the layer is too large for known mistakes to be tried",
             DiagnosisKind::kUnknown}};
  }
  const LayerMatcher matcher(findings);
  std::vector<LayerSteps> answers(all.size());
  parallel_for(static_cast<Index>(all.size()), threads, [&](Index n, int) {
    const auto at = static_cast<std::size_t>(n);
    answers[at] = all[at].answer(problem, {}, 1);
  });
  for (const double room : {1.0, kRoom}) {
    for (std::size_t n = 0; n < all.size(); ++n) {
      if (matcher.fits_all(answers[n], room)) add(all[n], found);
    }
    if (!found.empty()) return found;
  }
  answers.clear();

  // Step by step, each from what was recorded before it.
  const LayerSteps& given = findings.layer.recorded;
  bool open = false;
  for (const LayerStep step : findings.wrong) {
    const std::vector<char> fit = tried(all.size(), threads, [&](std::size_t n) {
      return given.has(step) && matcher.fits(all[n].answer(problem, given, 1), step, 1);
    });
    const auto first = std::find(fit.begin(), fit.end(), 1);
    if (first == fit.end()) {
      open = true;
    } else {
      add(all[static_cast<std::size_t>(first - fit.begin())], found);
    }
  }
  if (!found.empty() && !open) return found;
  std::vector<Diagnosis> pair;
  two_mistakes(problem, all, matcher, threads, pair);
  if (!pair.empty()) return pair;
  if (found.empty()) found.push_back({"numeric-error", "", DiagnosisKind::kUnknown});
  return found;
}

}  // namespace attn
