#include "check/check_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "check/diagnose.h"
#include "check/fast_attention.h"
#include "check/laws.h"
#include "core/text.h"

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// Masks that stand in for minus infinity are at or below this (1e4, 1e9, the least float ...).
constexpr double kSentinel = -1e4;

struct AnswerLimits {
  Limits out, weights, scores, lse;
};

AnswerLimits honest_limits(const AttentionProblem& problem, const AttentionAnswer& truth,
                           DType dtype, bool round_scores, int threads) {
  const bool maps = truth.weights.rank() != 0;
  LimitFinder out(truth.out, dtype);
  LimitFinder weights(truth.weights, dtype);
  LimitFinder scores(truth.scores, dtype);
  LimitFinder lse(truth.lse, dtype, 1);
  for (PlainOrder order : kPlainOrders) {
    const AttentionAnswer plain =
        plain_attention(problem, dtype, order, round_scores, maps, threads);
    out.add(plain.out);
    lse.add(plain.lse);
    if (!maps) continue;
    weights.add(plain.weights);
    scores.add(plain.scores);
  }
  return {out.limits(), weights.limits(), scores.limits(), lse.limits()};
}

// One pass over what was recorded; members are what its checks share.
class Examination {
 public:
  Examination(const AttentionCase& recorded, const CheckSettings& settings)
      : recorded_(recorded), problem_(recorded.problem), settings_(settings) {}

  AttentionReport run() {
    const bool maps = settings_.maps || recorded_.weights || recorded_.scores;
    report_.truth = reference_attention(problem_, maps, settings_.threads);
    report_.fast = fast_attention(problem_, settings_.maps, settings_.threads);
    honest_ =
        honest_limits(problem_, report_.truth, problem_.rules.dtype, false, settings_.threads);
    allowed_ = of_records(honest_);
    report_.of_out = allowed_.out;
    check_inputs();
    check_equality();
    check_laws();
    check_kernel();
    note_assumption();
    if (report_.verdict.outcome() == Outcome::kFail) diagnose_failure();
    return std::move(report_);
  }

 private:
  // What the records may differ, with the rounding of what each was stored in.
  AnswerLimits of_records(const AnswerLimits& limits) const {
    const StoredTypes& stored = recorded_.stored;
    const AttentionAnswer& truth = report_.truth;
    const DType dtype = problem_.rules.dtype;
    return {kept_in(stored.out, dtype, limits.out, truth.out),
            kept_in(stored.weights, dtype, limits.weights, truth.weights),
            kept_in(stored.scores, dtype, limits.scores, truth.scores),
            kept_in(stored.lse, dtype, limits.lse, truth.lse)};
  }

  void add(Check check) { report_.verdict.checks.push_back(std::move(check)); }

  // Only a failure is worth a line: finite inputs say nothing about what was made of them.
  void check_inputs() {
    Check check;
    check.name = "finite-inputs";
    check.max_error = kInfinity;
    check.outcome = Outcome::kFail;
    std::vector<char> key_seen(static_cast<std::size_t>(problem_.kv_len()));
    for (Index b = 0; b < problem_.batch(); ++b) {
      for (Index h = 0; h < problem_.heads(); ++h) {
        std::fill(key_seen.begin(), key_seen.end(), 0);
        for (Index i = 0; i < problem_.q_len(); ++i) mark_seen(b, h, i, key_seen);
        const Index kv_head = problem_.kv_head_of(h);
        for (Index i = 0; i < problem_.q_len(); ++i) {
          if (found("q", problem_.q_row(b, h, i), problem_.head_dim(), {b, h, i}, check)) return;
        }
        for (Index j = 0; j < problem_.kv_len(); ++j) {
          if (key_seen[static_cast<std::size_t>(j)] == 0) continue;
          const double* key = problem_.k_row(b, kv_head, j);
          const double* value = problem_.v_row(b, kv_head, j);
          if (found("k", key, problem_.head_dim(), {b, kv_head, j}, check)) return;
          if (found("v", value, problem_.value_dim(), {b, kv_head, j}, check)) return;
        }
      }
    }
  }

  void mark_seen(Index b, Index h, Index i, std::vector<char>& seen) const {
    const Sight sight = sight_of(problem_, b, i);
    for (Index j = sight.first; j < sight.end; ++j) {
      if (mask_allows(problem_, b, h, i, j)) seen[static_cast<std::size_t>(j)] = 1;
    }
  }

  bool found(const char* name, const double* row, Index count, std::vector<Index> place,
             Check& check) {
    const double* bad = std::find_if(row, row + count, [](double x) { return !std::isfinite(x); });
    if (bad == row + count) return false;
    place.push_back(bad - row);
    check.note = fmt::format("{} holds {} where it is read", name, *bad);
    check.where = std::move(place);
    add(check);
    return true;
  }

  void check_equality() {
    add(recorded_.out ? out_check() : not_checked("out", "no out"));
    add(recorded_.weights
            ? compare("weights", *recorded_.weights, report_.truth.weights, allowed_.weights)
            : not_checked("weights", "no weights"));
    add(recorded_.scores ? scores_check() : not_checked("scores", "no scores"));
    add(recorded_.lse ? lse_check() : not_checked("lse", "no lse"));
  }

  Check out_check() {
    Check check = compare("out", *recorded_.out, report_.truth.out, allowed_.out);
    const DType dtype = problem_.rules.dtype;
    if (check.outcome == Outcome::kPass) return check;
    if (dtype == DType::kF64) {
      const Limits single =
          honest_limits(problem_, report_.truth, DType::kF32, false, settings_.threads).out;
      const Check as_f32 = compare("out", *recorded_.out, report_.truth.out, single);
      if (as_f32.outcome == Outcome::kPass) check.note = "no better than float32 arithmetic";
    } else if (dtype != DType::kF32) {
      // Where each step is a tensor in 16 bits (PyTorch's eager mode), scores are rounded too.
      const AnswerLimits rounded =
          of_records(honest_limits(problem_, report_.truth, dtype, true, settings_.threads));
      Check again = compare("out", *recorded_.out, report_.truth.out, rounded.out);
      if (again.outcome == Outcome::kPass) {
        allowed_ = rounded;
        again.note = fmt::format("scores rounded to {}", dtype_name(dtype));
        return again;
      }
    }
    return check;
  }

  Check scores_check() {
    Tensor<double> given = *recorded_.scores;
    const ScoreStage stage = recorded_.scores_stage;
    if (stage == ScoreStage::kMasked) {
      const Tensor<double>& truth = report_.truth.scores;
      bool sentinel = false;
      for (std::size_t n = 0; n < given.values.size(); ++n) {
        if (truth.values[n] != -kInfinity || !(given.values[n] <= kSentinel)) continue;
        sentinel = sentinel || given.values[n] != -kInfinity;
        given.values[n] = -kInfinity;
      }
      Check check = compare("scores", given, truth, allowed_.scores);
      if (sentinel) check.note = "hidden by finite numbers";
      return check;
    }
    const Tensor<double> truth = reference_scores(problem_, stage, settings_.threads);
    for (std::size_t n = 0; n < given.values.size(); ++n) {
      if (std::isnan(truth.values[n])) given.values[n] = kNan;  // padding: anything may stand there
    }
    const DType dtype = problem_.rules.dtype;
    Limits allowed =
        kept_in(recorded_.stored.scores, dtype, LimitFinder(truth, dtype).limits(), truth);
    allowed.max_error = std::max(allowed.max_error, allowed_.scores.max_error);
    allowed.mean_error = std::max(allowed.mean_error, allowed_.scores.mean_error);
    return compare("scores", given, truth, allowed);
  }

  // With a sink, a row without keys has a denominator of exp(sink): both conventions are in use.
  Check lse_check() {
    Tensor<double> truth = report_.truth.lse;
    for (Index row = 0; row < truth.size() && !problem_.sinks.empty(); ++row) {
      if (truth.data()[row] != -kInfinity) continue;
      const Index head = row / problem_.q_len() % problem_.heads();
      const double sink = problem_.sinks[static_cast<std::size_t>(head)];
      const double given = recorded_.lse->data()[row];
      if (std::abs(given - sink) <= allowed_.lse.max_error) truth.data()[row] = given;
    }
    return compare("lse", *recorded_.lse, truth, allowed_.lse);
  }

  void check_laws() {
    add(rows_sum_to_one(recorded_, report_.truth));
    add(weights_in_range(recorded_));
    add(future_weights_zero(recorded_));
    add(hidden_weights_zero(recorded_));
    add(out_within_values(recorded_, allowed_.out.max_error));
    add(one_key_gives_its_value(recorded_));
    add(permutation(recorded_, allowed_.out, settings_.threads));
    add(causal_probe(recorded_, allowed_.out));
  }

  void check_kernel() {
    const AnswerLimits single =
        problem_.rules.dtype == DType::kF32
            ? honest_
            : honest_limits(problem_, report_.truth, DType::kF32, false, settings_.threads);
    std::vector<Check>& checks = report_.kernel.checks;
    checks.push_back(compare("out", report_.fast.out, report_.truth.out, single.out));
    checks.push_back(compare("lse", report_.fast.lse, report_.truth.lse, single.lse));
    if (!settings_.maps) return;
    checks.push_back(
        compare("weights", report_.fast.weights, report_.truth.weights, single.weights));
    checks.push_back(compare("scores", report_.fast.scores, report_.truth.scores, single.scores));
  }

  void diagnose_failure() {
    // Suppositions are tried on whole maps; where nobody wanted them they are made now.
    AttentionAnswer truth = report_.truth;
    const Index maps = problem_.batch() * problem_.heads() * problem_.q_len() * problem_.kv_len();
    if (maps > kMostDiagnosed) {
      report_.remarks.push_back(
          fmt::format("known mistakes were not tried: {} weights are more than {}", grouped(maps),
                      grouped(kMostDiagnosed)));
    } else if (truth.weights.rank() == 0) {
      truth = reference_attention(problem_, true, settings_.threads);
    }
    report_.verdict.diagnosis = diagnose({recorded_, truth, allowed_.out, allowed_.weights,
                                          allowed_.scores, allowed_.lse, report_.verdict},
                                         settings_.threads);
  }

  void note_assumption() {
    const AttentionRules& rules = problem_.rules;
    const bool corners_differ = problem_.q_len() != problem_.kv_len() ||
                                !problem_.kv_lens.empty() || !problem_.cu_seqlens_q.empty();
    if (rules.causal && corners_differ && !recorded_.alignment_given) {
      report_.remarks.push_back(
          "causal-alignment is not given: assumed top-left (query 0 sees key 0)");
    }
  }

  const AttentionCase& recorded_;
  const AttentionProblem& problem_;
  const CheckSettings settings_;
  AnswerLimits honest_;   // of an answer in the declared type
  AnswerLimits allowed_;  // of what was recorded
  AttentionReport report_;
};

}  // namespace

AttentionReport check_attention(const AttentionCase& recorded, const CheckSettings& settings) {
  return Examination(recorded, settings).run();
}

}  // namespace attn
