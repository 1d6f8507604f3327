#include "check/diagnosis/symptoms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "check/diagnosis/matcher.h"

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLargestF16 = 65504;

std::string place_text(const AttentionProblem& problem, Index row) {
  const Index head = row / problem.q_len();
  return fmt::format("({}, {}, {})", head / problem.heads(), head % problem.heads(),
                     row % problem.q_len());
}

std::string range_text(double least, double most) {
  return least == most ? fmt::format("{:.4g}", least)
                       : fmt::format("{:.4g} to {:.4g}", least, most);
}

// Scores less their truth are one number along each row; out does not show that.
bool scores_are_shifted(const Findings& f, std::string& detail) {
  if (!check_failed(f.verdict, "scores") || f.recorded.scores_stage != ScoreStage::kMasked)
    return false;
  const Index keys = f.recorded.problem.kv_len();
  double least = kInfinity;
  double most = -kInfinity;
  const auto& scores = f.recorded.scores->values;
  for (Index row = 0; row < f.truth.lse.size(); ++row) {
    double low = kInfinity;
    double high = -kInfinity;
    for (Index j = 0; j < keys; ++j) {
      const auto at = static_cast<std::size_t>(row * keys + j);
      if (f.truth.scores.values[at] == -kInfinity) continue;
      const double shift = scores[at] - f.truth.scores.values[at];
      if (!std::isfinite(shift)) return false;
      low = std::min(low, shift);
      high = std::max(high, shift);
    }
    if (low > high) continue;
    // Two roundings, the larger for a larger number.
    if (high - low > 4 * f.of_scores.max_error) return false;
    least = std::min(least, low);
    most = std::max(most, high);
  }
  if (least > most) return false;
  detail = fmt::format(
      "scores are off by a constant in each row ({}): the softmax takes it away, "
      "weights and out are unaffected",
      range_text(least, most));
  return true;
}

bool lse_is_shifted(const Findings& f, std::string& detail) {
  if (!check_failed(f.verdict, "lse")) return false;
  double least = kInfinity;
  double most = -kInfinity;
  for (Index row = 0; row < f.truth.lse.size(); ++row) {
    const double truth = f.truth.lse.data()[row];
    const double given = f.recorded.lse->data()[row];
    if (truth == -kInfinity) continue;
    if (!std::isfinite(given)) return false;
    least = std::min(least, given - truth);
    most = std::max(most, given - truth);
  }
  if (least > most) return false;
  detail = fmt::format("lse is off by {} a row: out is unaffected", range_text(least, most));
  return true;
}

bool out_is_zero(const Findings& f) {
  if (!check_failed(f.verdict, "out")) return false;
  const auto& given = f.recorded.out->values;
  return std::all_of(given.begin(), given.end(), [](double value) { return value == 0; });
}

// Each row of out is its truth times a number.
bool out_has_factors(const Findings& f, std::string& detail) {
  if (!check_failed(f.verdict, "out")) return false;
  const Index features = f.recorded.problem.value_dim();
  if (features < 2) return false;
  double least = kInfinity;
  double most = -kInfinity;
  Index rows = 0;
  for (Index row = 0; row < f.truth.lse.size(); ++row) {
    const double* truth = f.truth.out.data() + row * features;
    const double* given = f.recorded.out->data() + row * features;
    double square = 0;
    double product = 0;
    for (Index c = 0; c < features; ++c) {
      square += truth[c] * truth[c];
      product += truth[c] * given[c];
    }
    if (!std::isfinite(square) || !std::isfinite(product)) return false;
    if (square == 0) {
      const auto zero = [&f](double x) { return std::abs(x) <= f.of_out.max_error; };
      if (!std::all_of(given, given + features, zero)) return false;
      continue;
    }
    const double factor = product / square;
    for (Index c = 0; c < features; ++c) {
      const double allowed = 2 * f.of_out.max_error * std::max(1.0, std::abs(factor));
      if (!(std::abs(given[c] - factor * truth[c]) <= allowed)) return false;
    }
    ++rows;
    least = std::min(least, factor);
    most = std::max(most, factor);
  }
  if (rows == 0) return false;
  detail = fmt::format("each row of out is right but for a factor ({})", range_text(least, most));
  return true;
}

// Rows that are not finite are those whose q.k binary16 cannot hold.
bool f16_overflowed(const Findings& f, std::string& detail) {
  if (!check_failed(f.verdict, "out")) return false;
  const AttentionProblem& problem = f.recorded.problem;
  const Index features = problem.value_dim();
  std::string rows;
  Index count = 0;
  for (Index row = 0; row < f.truth.lse.size(); ++row) {
    const double* given = f.recorded.out->data() + row * features;
    const double* truth = f.truth.out.data() + row * features;
    const bool broken =
        std::any_of(given, given + features, [](double x) { return !std::isfinite(x); }) &&
        std::all_of(truth, truth + features, [](double x) { return std::isfinite(x); });
    const Index head = row / problem.q_len();
    const Index b = head / problem.heads();
    const Index h = head % problem.heads();
    const double* query = problem.q_row(b, h, row % problem.q_len());
    double largest = 0;
    for (Index j = 0; j < problem.kv_len(); ++j) {
      if (!may_see(problem, b, h, row % problem.q_len(), j)) continue;
      const double* key = problem.k_row(b, problem.kv_head_of(h), j);
      double sum = 0;
      for (Index c = 0; c < problem.head_dim(); ++c) sum += query[c] * key[c];
      largest = std::max(largest, std::abs(sum));
    }
    if (broken && largest <= kLargestF16) return false;
    if (!broken) continue;
    if (count++ < 6) rows += (count > 1 ? ", " : "") + place_text(problem, row);
  }
  if (count == 0) return false;
  detail = fmt::format("q.k is beyond 65504 in every row that is not finite: {}", rows);
  return true;
}

bool not_finite(const Findings& f, std::string& detail) {
  if (!f.recorded.out) return false;
  Index count = 0;
  Index first = 0;
  for (std::size_t n = 0; n < f.truth.out.values.size(); ++n) {
    if (!std::isfinite(f.truth.out.values[n]) || std::isfinite(f.recorded.out->values[n])) continue;
    if (count++ == 0) first = static_cast<Index>(n);
  }
  if (count == 0) return false;
  detail =
      fmt::format("{} of {} numbers of out, the first in row {}", count, f.truth.out.values.size(),
                  place_text(f.recorded.problem, first / f.recorded.problem.value_dim()));
  return true;
}

}  // namespace

std::vector<Diagnosis> lse_mistakes(const Findings& f) {
  std::vector<Diagnosis> found;
  if (!check_failed(f.verdict, "lse")) return found;
  Tensor<double> base2 = f.truth.lse;
  Tensor<double> no_max = f.truth.lse;
  Tensor<double> max_alone = f.truth.lse;
  Tensor<double> no_logarithm = f.truth.lse;
  const Index keys = f.recorded.problem.kv_len();
  double growth = 1;
  for (Index row = 0; row < base2.size(); ++row) {
    base2.data()[row] *= 1.4426950408889634;
    no_logarithm.data()[row] = std::exp(no_logarithm.data()[row]);
    growth = std::max(growth, no_logarithm.data()[row]);
    const double* scores = f.truth.scores.data() + row * keys;
    if (keys == 0 || no_max.data()[row] == -kInfinity) continue;
    const double top = *std::max_element(scores, scores + keys);
    no_max.data()[row] -= top;
    max_alone.data()[row] = top;
  }
  const auto try_one = [&](const char* name, const char* detail, const Tensor<double>& expected,
                           double room) {
    const Limits allowed{room * f.of_lse.max_error, room * f.of_lse.mean_error};
    if (compare("lse", *f.recorded.lse, expected, allowed).outcome != Outcome::kPass) return;
    found.push_back({name, detail, DiagnosisKind::kMistake});
  };
  try_one("lse-base2", "lse is log2 of the sum: 1.4427 times the natural logarithm", base2, 2);
  try_one("lse-max-missing", "the largest score was not added back", no_max, 2);
  try_one("lse-sum-missing", "lse is the largest score alone", max_alone, 2);
  try_one("lse-not-log", "lse is the sum and not its logarithm", no_logarithm, 2 * growth);
  return found;
}

std::vector<Diagnosis> symptoms(const Findings& f) {
  std::vector<Diagnosis> found;
  const auto add = [&found](const char* name, std::string detail) {
    found.push_back({name, std::move(detail), DiagnosisKind::kSymptom});
  };
  std::string detail;
  const bool out_fails = check_failed(f.verdict, "out");
  if (!out_fails && !check_failed(f.verdict, "weights")) {
    if (scores_are_shifted(f, detail)) add("row-constant", detail);
    if (lse_is_shifted(f, detail)) add("row-constant", detail);
  }
  if (check_failed(f.verdict, "future-weights-zero")) {
    add("causal-leak", "weights of later keys are not 0");
  } else if (check_failed(f.verdict, "causal-probe")) {
    add("causal-leak", "rows that may not see the changed keys moved");
  }
  if (out_is_zero(f)) {
    add("constant-output", "out is 0 everywhere");
    return found;
  }
  if (check_failed(f.verdict, "rows-sum-to-1")) {
    add("rows-not-normalised", "rows of weights do not sum to 1");
  } else if (out_has_factors(f, detail)) {
    add("rows-not-normalised", detail);
  }
  if (check_failed(f.verdict, "permutation")) {
    add("not-equivariant", "the run on permuted tokens is not the permuted run");
  }
  if (f16_overflowed(f, detail)) add("fp16-overflow", detail);
  if (not_finite(f, detail)) add("non-finite", detail);
  return found;
}

std::string coarser_arithmetic(const Findings& f, int threads) {
  const AttentionProblem& problem = f.recorded.problem;
  if (!check_failed(f.verdict, "out")) return "";
  const auto passes = [&](const AttentionProblem& seen, DType dtype) {
    LimitFinder finder(f.truth.out, dtype);
    for (PlainOrder order : kPlainOrders) {
      finder.add(plain_attention(seen, dtype, order, false, false, threads).out);
    }
    return compare("out", *f.recorded.out, f.truth.out, finder.limits()).outcome == Outcome::kPass;
  };
  const DType declared = problem.rules.dtype;
  if (declared == DType::kF64 && passes(problem, DType::kF32)) {
    return "consistent with f32 arithmetic";
  }
  if (declared != DType::kF64 && declared != DType::kF32) return "";
  // Weights of 10 bits after the point are those of f16.
  AttentionProblem tf32 = problem;
  for (Tensor<double>* tensor : {&tf32.q, &tf32.k, &tf32.v}) {
    for (double& value : tensor->values) value = tf32_rounded(value);
  }
  if (passes(tf32, DType::kF16)) return "consistent with TF32 inputs: --dtype tf32 takes them";
  if (passes(problem, DType::kF16)) return "consistent with f16 arithmetic";
  if (passes(problem, DType::kBF16)) return "consistent with bf16 arithmetic";
  return "";
}

}  // namespace attn
