#include "check/check_gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "check/diagnose_gradient.h"
#include "check/laws/gradient_laws.h"
#include "check/reference/fast_gradient.h"
#include "check/reference/plain_gradient.h"
#include "core/text.h"

namespace attn {

namespace {

// FlashAttention's tests allow a gradient three times the error of an honest one.
constexpr double kHonestTimes = 3;

// The longest rows that take part: padding, and queries that see nothing, may hold any numbers.
struct LongestRows {
  double q = 0, k = 0, v = 0, d_out = 0;
};

double length(const double* row, Index features) {
  double square = 0;
  for (Index c = 0; c < features; ++c) square += row[c] * row[c];
  return std::isfinite(square) ? std::sqrt(square) : 0;
}

LongestRows longest_rows(const AttentionProblem& problem, const Tensor<double>& d_out) {
  LongestRows longest;
  std::vector<char> seen(static_cast<std::size_t>(problem.batch() * problem.kv_heads()) *
                         static_cast<std::size_t>(problem.kv_len()));
  Index at = 0;
  for (Index b = 0; b < problem.batch(); ++b) {
    for (Index h = 0; h < problem.heads(); ++h) {
      const Index kv_head = problem.kv_head_of(h);
      char* of_head = seen.data() + (b * problem.kv_heads() + kv_head) * problem.kv_len();
      for (Index i = 0; i < problem.q_len(); ++i, ++at) {
        const Sight sight = sight_of(problem, b, i);
        bool any = false;
        for (Index j = sight.first; j < sight.end; ++j) {
          if (!mask_allows(problem, b, h, i, j)) continue;
          any = true;
          if (of_head[j] != 0) continue;
          of_head[j] = 1;
          longest.k = std::max(longest.k, length(problem.k_row(b, kv_head, j), problem.head_dim()));
          longest.v =
              std::max(longest.v, length(problem.v_row(b, kv_head, j), problem.value_dim()));
        }
        if (!any) continue;
        longest.q = std::max(longest.q, length(problem.q_row(b, h, i), problem.head_dim()));
        longest.d_out = std::max(
            longest.d_out, length(d_out.data() + at * problem.value_dim(), problem.value_dim()));
      }
    }
  }
  return longest;
}

// dP and delta nearly cancel where a row sees few keys: what is left is as exact as they are, not
// as exact as its own size. Two units of their largest, times the rows they meet in dQ and dK; a
// gradient smaller than what this stands for is allowed as much.
double cancelled_size(const LongestRows& longest, double scale, DType dtype) {
  const double largest =
      longest.d_out * longest.v * std::max(longest.q, longest.k) * std::abs(scale);
  return 2 * storage_rounding(dtype) * largest / tolerance_floor(dtype);
}

GradientLimits kept(const GradientRecord& record, DType dtype, const GradientLimits& limits,
                    const AttentionGradient& truth) {
  return {kept_in(record.stored_d_q, dtype, limits.d_q, truth.d_q),
          kept_in(record.stored_d_k, dtype, limits.d_k, truth.d_k),
          kept_in(record.stored_d_v, dtype, limits.d_v, truth.d_v),
          kept_in(record.stored_d_sinks, dtype, limits.d_sinks, truth.d_sinks)};
}

std::vector<Check> equality(const GradientRecord& record, const AttentionGradient& truth,
                            const GradientLimits& allowed) {
  std::vector<Check> checks;
  const auto add = [&](const char* name, const std::optional<Tensor<double>>& given,
                       const Tensor<double>& want, const Limits& limits) {
    checks.push_back(given ? compare(name, *given, want, limits)
                           : not_checked(name, fmt::format("no {}", name)));
  };
  add("dq", record.d_q, truth.d_q, allowed.d_q);
  add("dk", record.d_k, truth.d_k, allowed.d_k);
  add("dv", record.d_v, truth.d_v, allowed.d_v);
  if (record.d_sinks) add("dsinks", record.d_sinks, truth.d_sinks, allowed.d_sinks);
  return checks;
}

bool any_failed(const std::vector<Check>& checks) {
  return std::any_of(checks.begin(), checks.end(),
                     [](const Check& check) { return check.outcome == Outcome::kFail; });
}

void note_failures(std::vector<Check>& checks, const std::string& note) {
  for (Check& check : checks) {
    if (check.outcome == Outcome::kFail) check.note = note;
  }
}

// NaN in the gradient of a row that sees nothing, where the rules expect NaN of its out.
void forgive_dead_rows(const AttentionProblem& problem, GradientRecord& record) {
  if (problem.rules.fully_masked != FullyMasked::kNan || !record.d_q) return;
  const AttentionAnswer forward = reference_attention(problem, false, 1);
  for (Index row = 0; row < forward.lse.size(); ++row) {
    if (std::isfinite(forward.lse.data()[row])) continue;
    double* first = record.d_q->data() + row * problem.head_dim();
    std::replace_if(
        first, first + problem.head_dim(), [](double value) { return std::isnan(value); }, 0.0);
  }
}

}  // namespace

GradientLimits gradient_limits(const AttentionProblem& problem, const Tensor<double>& d_out,
                               const AttentionGradient& truth, DType dtype, bool round_steps,
                               int threads) {
  const bool wide = dtype == DType::kF32 || dtype == DType::kF64;
  const LongestRows longest = longest_rows(problem, d_out);
  const double least = wide ? cancelled_size(longest, problem.scale(), dtype) : 0;
  LimitFinder d_q(truth.d_q, dtype, least);
  LimitFinder d_k(truth.d_k, dtype, least);
  LimitFinder d_v(truth.d_v, dtype);
  for (BackwardOrder order : kBackwardOrders) {
    const AttentionGradient plain =
        plain_gradient(problem, d_out, dtype, order, round_steps, threads);
    d_q.add(plain.d_q);
    d_k.add(plain.d_k);
    d_v.add(plain.d_v);
  }
  // A sink's gradient is a sum over all rows of a head; what its terms are off is not followed.
  LimitFinder d_sinks(truth.d_sinks, dtype);
  Limits of_sinks = d_sinks.limits();
  of_sinks.max_error += static_cast<double>(problem.q_len()) * 4 * storage_rounding(dtype) *
                        longest.d_out * longest.v;
  of_sinks.mean_error = of_sinks.max_error;
  return {d_q.limits(kHonestTimes), d_k.limits(kHonestTimes), d_v.limits(kHonestTimes), of_sinks};
}

void check_gradient(const PartedCase& source, const CheckSettings& settings,
                    AttentionReport& report) {
  if (source.whole() == nullptr) {
    const char* why = "gradients are checked of cases that fit into memory";
    for (const char* name : {"dq", "dk", "dv"}) {
      report.verdict.checks.push_back(not_checked(name, why));
    }
    return;
  }
  const AttentionCase& recorded = *source.whole();
  const AttentionProblem& problem = recorded.problem;
  GradientRecord record = *recorded.gradient;
  forgive_dead_rows(problem, record);
  const int threads = settings.threads;
  const DType dtype = problem.rules.dtype;
  const AttentionGradient truth = reference_gradient(problem, record.d_out, threads);
  const GradientLimits honest =
      gradient_limits(problem, record.d_out, truth, dtype, false, threads);
  GradientLimits allowed = kept(record, dtype, honest, truth);
  std::vector<Check> checks = equality(record, truth, allowed);
  if (any_failed(checks) && dtype == DType::kF64) {
    const GradientLimits single =
        gradient_limits(problem, record.d_out, truth, DType::kF32, false, threads);
    if (!any_failed(equality(record, truth, single))) {
      note_failures(checks, "no better than float32 arithmetic");
    }
  } else if (any_failed(checks) && dtype != DType::kF32) {
    // Where each step is a tensor in 16 bits (PyTorch's eager mode), all of them are rounded.
    const GradientLimits stepped = kept(
        record, dtype, gradient_limits(problem, record.d_out, truth, dtype, true, threads), truth);
    std::vector<Check> again = equality(record, truth, stepped);
    if (!any_failed(again)) {
      note_failures(checks, fmt::format("steps rounded to {}", dtype_name(dtype)));
      for (std::size_t n = 0; n < checks.size(); ++n) again[n].note = checks[n].note;
      checks = std::move(again);
      allowed = stepped;
    }
  }
  Verdict& verdict = report.verdict;
  verdict.checks.insert(verdict.checks.end(), checks.begin(), checks.end());
  AttentionCase forgiven = recorded;
  forgiven.gradient = std::move(record);
  verdict.checks.push_back(hidden_gradients_zero(forgiven));
  verdict.checks.push_back(d_v_sums_to_d_out(forgiven, allowed.d_v.max_error));
  verdict.checks.push_back(d_k_sums_to_zero(forgiven, allowed.d_k.max_error));
  verdict.checks.push_back(
      d_q_balances_d_k(forgiven, allowed.d_q.max_error, allowed.d_k.max_error));

  const Tensor<double>& d_out = forgiven.gradient->d_out;
  const AttentionGradient fast = fast_gradient(problem, d_out, threads);
  const GradientLimits single =
      dtype == DType::kF32 ? honest
                           : gradient_limits(problem, d_out, truth, DType::kF32, false, threads);
  report.kernel.checks.push_back(compare("dq", fast.d_q, truth.d_q, single.d_q));
  report.kernel.checks.push_back(compare("dk", fast.d_k, truth.d_k, single.d_k));
  report.kernel.checks.push_back(compare("dv", fast.d_v, truth.d_v, single.d_v));

  const Index maps = problem.batch() * problem.heads() * problem.q_len() * problem.kv_len();
  if (maps > kMostGradientsTried && any_failed(checks)) {
    report.remarks.push_back(
        fmt::format("mistakes of the backward pass were not tried: {} weights, more than {}; fewer "
                    "sequences, heads or rows show them too",
                    grouped(maps), grouped(kMostGradientsTried)));
  }
  for (const std::string& name : diagnose_gradient({forgiven, truth, allowed, verdict}, threads)) {
    const std::vector<std::string> known = names_of(verdict.diagnosis);
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const DiagnosisKind kind =
        name == "numeric-error" ? DiagnosisKind::kUnknown : DiagnosisKind::kMistake;
    verdict.diagnosis.push_back({name, "", kind});
  }
}

}  // namespace attn
