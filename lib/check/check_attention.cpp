#include "check/check_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "check/cases/honest_limits.h"
#include "check/check_gradient.h"
#include "check/diagnosis/diagnose.h"
#include "check/diagnosis/large_diagnosis.h"
#include "check/laws/law_book.h"
#include "check/part_comparison.h"
#include "check/reference/fast_attention.h"
#include "check/verdict/input_check.h"
#include "core/text.h"

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// The reference and the kernel together take about as long as this many times their products; an
// honest order, in plain loops, as this many.
constexpr double kReferenceCost = 1;
constexpr double kHonestCost = 20;

// Products that take about a second: below, nobody needs to be told how far it is.
constexpr double kWorkOfSeconds = 2e10;

// One pass over what was recorded, part by part; members are what its checks share.
class Examination {
 public:
  Examination(const PartedCase& source, const CheckSettings& settings)
      : source_(source),
        outline_(source.outline()),
        problem_(source.outline().problem),
        settings_(settings),
        maps_(settings.maps || outline_.weights || outline_.scores),
        plan_(plan_parts(outline_, settings.maps, settings.maps ? kInfinity : settings.part_bytes)),
        comparison_(outline_, settings.maps, settings.threads) {}

  AttentionReport run() {
    for (const CasePart& part : plan_) work_ += kReferenceCost * work_of(problem_, part);
    keep_answers();
    for (const CasePart& part : plan_) {
      if (const AttentionCase* whole = whole_in_one_part()) {
        examine(*whole, part);
      } else {
        examine(source_.part(part), part);
      }
      advance(kReferenceCost * work_of(problem_, part));
    }
    find_limits();
    report_.of_out = allowed_.out;
    if (inputs_) add(*inputs_);
    check_equality();
    for (Check& check : laws_.checks(outline_, allowed_.out)) add(std::move(check));
    report_.kernel.checks = comparison_.check_kernel(single_);
    note_assumption();
    note_sample();
    if (report_.verdict.outcome() == Outcome::kFail) diagnose_failure();
    return std::move(report_);
  }

 private:
  const AttentionCase* whole_in_one_part() const {
    return plan_.size() == 1 ? source_.whole() : nullptr;
  }

  void advance(double work) {
    done_ += work;
    if (settings_.progress && work_ > kWorkOfSeconds) {
      settings_.progress(static_cast<Index>(1000 * std::min(1.0, done_ / work_)));
    }
  }

  void keep_answers() {
    if (plan_.size() == 1 || !settings_.answers) return;
    const Shape rows = {problem_.batch(), problem_.heads(), problem_.q_len()};
    for (AttentionAnswer* answer : {&report_.truth, &report_.fast}) {
      answer->out = Tensor<double>({rows[0], rows[1], rows[2], problem_.value_dim()});
      answer->lse = Tensor<double>(rows);
    }
  }

  // One part's rows of an answer into the whole's.
  void keep(const AttentionAnswer& of_part, const CasePart& part, AttentionAnswer& all) const {
    const std::vector<Index> origin = part.origin(problem_);
    const Index features = problem_.value_dim();
    const Index heads = of_part.lse.dim(1);
    for (Index head = 0; head < of_part.lse.dim(0) * heads; ++head) {
      const Index b = origin[0] + head / heads;
      const Index h = origin[1] + head % heads;
      const Index to = (b * problem_.heads() + h) * problem_.q_len() + part.row;
      std::copy_n(of_part.lse.data() + head * part.rows, part.rows, all.lse.data() + to);
      std::copy_n(of_part.out.data() + head * part.rows * features, part.rows * features,
                  all.out.data() + to * features);
    }
  }

  void examine(const AttentionCase& recorded, const CasePart& part) {
    const AttentionProblem& problem = recorded.problem;
    const std::vector<Index> origin = part.origin(problem_);
    AttentionAnswer truth = reference_attention(problem, maps_, settings_.threads);
    AttentionAnswer fast = fast_attention(problem, settings_.maps, settings_.threads);
    if (!inputs_) inputs_ = check_inputs(problem, origin);
    comparison_.add(recorded, truth, fast, origin);
    laws_.add(recorded, truth, origin, settings_.threads);
    if (plan_.size() == 1) {
      report_.truth = std::move(truth);
      report_.fast = std::move(fast);
    } else if (settings_.answers) {
      keep(truth, part, report_.truth);
      keep(fast, part, report_.fast);
    }
  }

  void find_limits() {
    sizes_ = comparison_.sizes();
    const AttentionAnswer* truth = whole_in_one_part() != nullptr ? &report_.truth : nullptr;
    sample_.emplace(source_, plan_, comparison_.worst_places(), maps_, truth, settings_.threads);
    const bool single = problem_.rules.dtype == DType::kF32 && !problem_.rules.tf32;
    work_ = done_ + (single ? 1 : 2) * kHonestCost * sample_->work();
    honest_ = honest_limits(problem_.rules.dtype, false, problem_.rules.tf32);
    single_ = single ? honest_ : honest_limits(DType::kF32, false);
    allowed_ = of_records(honest_);
  }

  AnswerLimits honest_limits(DType dtype, bool round_scores, bool tf32 = false) {
    return sample_->limits(dtype, tf32, round_scores, sizes_,
                           [this](double work) { advance(kHonestCost * work); });
  }

  // What the records may differ, with the rounding of what each was stored in.
  AnswerLimits of_records(const AnswerLimits& limits) const {
    const StoredTypes& stored = outline_.stored;
    const DType dtype = problem_.rules.dtype;
    return {kept_in(stored.out, dtype, limits.out, sizes_.out),
            kept_in(stored.weights, dtype, limits.weights, sizes_.weights),
            kept_in(stored.scores, dtype, limits.scores, sizes_.scores),
            kept_in(stored.lse, dtype, limits.lse, sizes_.lse)};
  }

  void add(Check check) { report_.verdict.checks.push_back(std::move(check)); }

  void check_equality() {
    add(check_out());
    // By what out was found to need: its check may have changed what is allowed.
    for (Check& check : comparison_.check_others(allowed_)) add(std::move(check));
  }

  Check check_out() {
    Check check = comparison_.check_out(allowed_.out);
    const DType dtype = problem_.rules.dtype;
    if (check.outcome != Outcome::kFail) return check;
    if (dtype == DType::kF64) {
      const Check as_f32 = comparison_.check_out(single_.out);
      if (as_f32.outcome == Outcome::kPass) check.note = "no better than float32 arithmetic";
    } else if (dtype != DType::kF32) {
      // Where each step is a tensor in 16 bits (PyTorch's eager mode), scores are rounded too.
      const AnswerLimits rounded = of_records(honest_limits(dtype, true));
      Check again = comparison_.check_out(rounded.out);
      if (again.outcome == Outcome::kPass) {
        allowed_ = rounded;
        again.note = fmt::format("scores rounded to {}", dtype_name(dtype));
        return again;
      }
    }
    return check;
  }

  void diagnose_failure() {
    const Index maps = problem_.batch() * problem_.heads() * problem_.q_len() * problem_.kv_len();
    const AttentionCase* whole = whole_in_one_part();
    if (whole == nullptr || maps > kMostDiagnosed) return diagnose_part();
    // Suppositions are tried on whole maps; where nobody wanted them they are made now.
    AttentionAnswer truth = report_.truth;
    if (truth.weights.rank() == 0) truth = reference_attention(problem_, true, settings_.threads);
    summarise_errors(*whole, truth);
    report_.verdict.diagnosis = diagnose({*whole, truth, allowed_.out, allowed_.weights,
                                          allowed_.scores, allowed_.lse, report_.verdict},
                                         settings_.threads);
  }

  // Of a large case: some rows where the error sits, then what explains them in full.
  void diagnose_part() {
    PartComparison::Worst worst = comparison_.worst_of_failed(report_.verdict);
    const double left = work_;
    work_ = done_ + left;
    report_.verdict.diagnosis = diagnose_large(
        {source_, report_.verdict, allowed_, std::move(worst.where), worst.truth_size,
         settings_.threads, [&](double share) { advance(left * share); }},
        report_.remarks);
  }

  void summarise_errors(const AttentionCase& whole, const AttentionAnswer& truth) {
    const auto add_one = [this](const char* name, const std::optional<Tensor<double>>& given,
                                const Tensor<double>& expected, const Limits& allowed) {
      if (!given || !check_failed(report_.verdict, name)) return;
      report_.errors.push_back(summarise_error(name, *given, expected, allowed.max_error));
    };
    add_one("out", whole.out, truth.out, allowed_.out);
    add_one("weights", whole.weights, truth.weights, allowed_.weights);
    if (whole.scores_stage != ScoreStage::kMasked) return;
    add_one("scores", whole.scores, truth.scores, allowed_.scores);
  }

  void note_assumption() {
    const AttentionRules& rules = problem_.rules;
    const bool corners_differ = problem_.q_len() != problem_.kv_len() ||
                                !problem_.kv_lens.empty() || !problem_.cu_seqlens_q.empty();
    if (rules.causal && corners_differ && !outline_.alignment_given) {
      report_.remarks.push_back(
          "causal-alignment is not given: assumed top-left (query 0 sees key 0)");
    }
  }

  void note_sample() {
    if (sample_->rows() == sample_->all_rows()) return;
    report_.remarks.push_back(fmt::format("honest error from {} of {} rows",
                                          grouped(sample_->rows()), grouped(sample_->all_rows())));
  }

  const PartedCase& source_;
  const AttentionCase& outline_;
  const AttentionProblem& problem_;  // of the outline
  const CheckSettings& settings_;
  const bool maps_;
  const std::vector<CasePart> plan_;
  double work_ = 0;
  double done_ = 0;

  std::optional<Check> inputs_;
  PartComparison comparison_;
  LawBook laws_;

  std::optional<HonestSample> sample_;
  AnswerLimits sizes_;    // of the truth
  AnswerLimits honest_;   // of an answer in the declared type
  AnswerLimits single_;   // in float32
  AnswerLimits allowed_;  // of what was recorded
  AttentionReport report_;
};

}  // namespace

AttentionReport check_attention(const PartedCase& source, const CheckSettings& settings) {
  AttentionReport report = Examination(source, settings).run();
  if (source.outline().gradient) check_gradient(source, settings, report);
  return report;
}

AttentionReport check_attention(const AttentionCase& recorded, const CheckSettings& settings) {
  return check_attention(CaseInMemory(recorded), settings);
}

}  // namespace attn
