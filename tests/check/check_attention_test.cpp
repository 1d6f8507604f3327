#include "check/check_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "check/problems.h"
#include "check/reference/fast_attention.h"

namespace attn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Check find(const Verdict& verdict, const std::string& name) {
  for (const Check& check : verdict.checks) {
    if (check.name == name) return check;
  }
  ADD_FAILURE() << "no check is called " << name;
  return {};
}

// What an ordinary implementation in `dtype` would have recorded.
AttentionCase recorded_in(DType dtype, AttentionProblem problem, bool round_scores = false) {
  problem.rules.dtype = dtype;
  AttentionCase recorded;
  recorded.out = plain_attention(problem, dtype, PlainOrder::kTiled, round_scores, false, 1).out;
  recorded.problem = std::move(problem);
  return recorded;
}

Verdict verdict_of(const AttentionCase& recorded) {
  validate(recorded);
  return check_attention(recorded, {}).verdict;
}

TEST(CheckAttention, WithNothingToCompareThereIsNoVerdict) {
  AttentionCase recorded;
  recorded.problem = three_tokens();
  const AttentionReport report = check_attention(recorded, {.maps = true});
  EXPECT_EQ(report.verdict.outcome(), Outcome::kNotChecked);
  EXPECT_EQ(report.kernel.outcome(), Outcome::kPass);
  EXPECT_EQ(report.kernel.checks.size(), 4U);
}

TEST(CheckAttention, PassesOrdinaryArithmeticInEveryType) {
  const AttentionProblem problem = random_problem({.q_len = 9, .kv_len = 50, .head_dim = 32}, 31);
  for (DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    EXPECT_EQ(verdict_of(recorded_in(dtype, problem)).outcome(), Outcome::kPass);
  }
}

// A float64 run whose records were kept as f32: what that rounds away is no mistake, more is.
TEST(CheckAttention, AllowsTheRoundingOfWhatRecordsAreKeptIn) {
  const auto rounded = [](Tensor<double> exact) {
    for (double& value : exact.values) value = static_cast<double>(static_cast<float>(value));
    return exact;
  };
  AttentionCase recorded;
  recorded.problem = random_problem({.heads = 2, .q_len = 9, .kv_len = 33, .head_dim = 8}, 32);
  recorded.problem.rules.dtype = DType::kF64;
  const AttentionAnswer answer = reference_attention(recorded.problem, true, 1);
  recorded.out = rounded(answer.out);
  recorded.weights = rounded(answer.weights);
  recorded.scores = rounded(answer.scores);
  recorded.lse = rounded(answer.lse);
  const std::vector<std::string> kept = {"out", "weights", "scores", "lse", "rows-sum-to-1"};
  const Verdict as_f64 = verdict_of(recorded);
  for (const std::string& name : kept) {
    EXPECT_EQ(find(as_f64, name).outcome, Outcome::kFail) << name;
  }
  recorded.stored = {DType::kF32, DType::kF32, DType::kF32, DType::kF32, DType::kF32, DType::kF32};
  EXPECT_EQ(verdict_of(recorded).outcome(), Outcome::kPass);
  // Half a unit of the largest is 6e-8 at 1.
  recorded.weights->values[5] += 1e-6;
  recorded.lse->values[3] += 1e-6;
  const Verdict wrong = verdict_of(recorded);
  EXPECT_EQ(find(wrong, "weights").outcome, Outcome::kFail);
  EXPECT_EQ(find(wrong, "lse").outcome, Outcome::kFail);
  EXPECT_EQ(find(wrong, "rows-sum-to-1").outcome, Outcome::kFail);
}

TEST(CheckAttention, RaisesNoFalseAlarmOverAnyRules) {
  for (std::uint64_t seed = 1000; seed < 1200; ++seed) {
    const AttentionProblem problem = any_problem(seed);
    AttentionCase recorded = recorded_answer(problem, fast_attention(problem, true, 1));
    for (Index i = recorded.problem.q_len(); i-- > 0;) recorded.perm.push_back(i);
    recorded.out_perm = fast_attention(permuted(recorded.problem, recorded.perm), false, 1).out;
    for (const Check& check : verdict_of(recorded).checks) {
      EXPECT_NE(check.outcome, Outcome::kFail)
          << "seed " << seed << ": " << check.name << " is off by " << check.max_error
          << ", allowed " << check.limit;
    }
  }
}

TEST(CheckAttention, LargeScoresInFloat32ArePassedWhateverTheOrderOfOperations) {
  AttentionProblem problem = random_problem({.q_len = 9, .kv_len = 50, .head_dim = 64}, 32);
  for (double& value : problem.q.values) value *= 40;
  AttentionCase recorded = recorded_in(DType::kF32, problem);
  for (PlainOrder order : kPlainOrders) {
    recorded.out = plain_attention(problem, DType::kF32, order, false, false, 1).out;
    EXPECT_EQ(verdict_of(recorded).outcome(), Outcome::kPass);
  }
}

TEST(CheckAttention, ScoresRoundedTo16BitsPassWithARemark) {
  AttentionProblem problem = random_problem({.q_len = 9, .kv_len = 50, .head_dim = 64}, 33);
  for (double& value : problem.q.values) value *= 4;
  AttentionCase recorded = recorded_in(DType::kBF16, problem, true);
  const Check check = find(verdict_of(recorded), "out");
  EXPECT_EQ(check.outcome, Outcome::kPass);
  EXPECT_EQ(check.note, "scores rounded to bf16");
}

TEST(CheckAttention, Float32BehindADeclaredFloat64IsRemarked) {
  AttentionCase recorded = recorded_in(DType::kF32, random_problem({}, 34));
  recorded.problem.rules.dtype = DType::kF64;
  const Check check = find(verdict_of(recorded), "out");
  EXPECT_EQ(check.outcome, Outcome::kFail);
  EXPECT_EQ(check.note, "no better than float32 arithmetic");
}

TEST(CheckAttention, Tf32FailsAsFloat32AndPassesAsWhatItIs) {
  const AttentionProblem problem = random_problem({.q_len = 9, .kv_len = 50, .head_dim = 64}, 42);
  AttentionProblem rounded = problem;
  for (Tensor<double>* tensor : {&rounded.q, &rounded.k, &rounded.v}) {
    for (double& value : tensor->values) value = tf32_rounded(value);
  }
  AttentionCase recorded;
  recorded.out = plain_attention(rounded, DType::kF32, PlainOrder::kTiled, false, false, 1).out;
  recorded.problem = problem;
  EXPECT_EQ(verdict_of(recorded).outcome(), Outcome::kFail);
  recorded.problem.rules.tf32 = true;
  EXPECT_EQ(verdict_of(recorded).outcome(), Outcome::kPass);
  EXPECT_EQ(check_attention(recorded, {}).kernel.outcome(), Outcome::kPass);
  recorded.out->values[3] *= 1.02;
  EXPECT_EQ(verdict_of(recorded).outcome(), Outcome::kFail);
}

TEST(CheckAttention, OneWrongNumberIsFoundAndPlaced) {
  AttentionCase recorded = recorded_in(DType::kF32, random_problem({.batch = 2}, 35));
  recorded.out->values[(2 * 5 + 5 + 4) * 8 + 6] += 1e-3;  // batch 1, head 1, row 4, column 6
  const Check check = find(verdict_of(recorded), "out");
  EXPECT_EQ(check.outcome, Outcome::kFail);
  EXPECT_THAT(check.where, testing::ElementsAre(1, 1, 4, 6));
  EXPECT_GT(check.ratio(), 10);
}

TEST(CheckAttention, NanInOutIsAnInfiniteError) {
  AttentionCase recorded = recorded_in(DType::kF32, random_problem({}, 36));
  recorded.out->values[11] = std::numeric_limits<double>::quiet_NaN();
  const Check check = find(verdict_of(recorded), "out");
  EXPECT_EQ(check.outcome, Outcome::kFail);
  EXPECT_EQ(check.max_error, kInfinity);
}

TEST(CheckAttention, NanInAQueryIsAFindingAndInPaddingIsNot) {
  AttentionCase recorded;
  recorded.problem = random_problem({}, 37);
  recorded.problem.kv_lens = {4};
  recorded.problem.k.values[4 * 8] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(verdict_of(recorded).outcome(), Outcome::kNotChecked);
  recorded.problem.q.values[5 * 8 + 2] = std::numeric_limits<double>::quiet_NaN();
  const Verdict verdict = verdict_of(recorded);
  EXPECT_EQ(verdict.outcome(), Outcome::kFail);
  EXPECT_EQ(find(verdict, "finite-inputs").note, "q holds nan where it is read");
  EXPECT_THAT(find(verdict, "finite-inputs").where, testing::ElementsAre(0, 1, 0, 2));
}

TEST(CheckAttention, ScoresMayBeHiddenByAFiniteNumberButNotSeen) {
  AttentionProblem problem = random_problem({}, 38);
  problem.rules.causal = true;
  AttentionCase recorded;
  recorded.problem = problem;
  recorded.scores = reference_attention(problem, true, 1).scores;
  EXPECT_EQ(find(verdict_of(recorded), "scores").outcome, Outcome::kPass);
  for (double& score : recorded.scores->values) {
    if (score == -kInfinity) score = -3.4e38;
  }
  EXPECT_EQ(find(verdict_of(recorded), "scores").note, "hidden by finite numbers");
  recorded.scores->values[1] = 0.5;
  EXPECT_EQ(find(verdict_of(recorded), "scores").outcome, Outcome::kFail);
  recorded.scores = reference_scores(problem, ScoreStage::kRaw, 1);
  recorded.scores_stage = ScoreStage::kRaw;
  EXPECT_EQ(find(verdict_of(recorded), "scores").outcome, Outcome::kPass);
}

TEST(CheckAttention, LogSumExpInBaseTwoFails) {
  AttentionCase recorded;
  recorded.problem = random_problem({}, 39);
  recorded.lse = reference_attention(recorded.problem, false, 1).lse;
  EXPECT_EQ(verdict_of(recorded).outcome(), Outcome::kPass);
  for (double& value : recorded.lse->values) value *= 1.4427;
  EXPECT_EQ(verdict_of(recorded).outcome(), Outcome::kFail);
}

TEST(CheckAttention, SaysWhichCornerItAssumed) {
  AttentionCase recorded;
  recorded.problem = random_problem({.q_len = 2, .kv_len = 5}, 40);
  EXPECT_TRUE(check_attention(recorded, {}).remarks.empty());
  recorded.problem.rules.causal = true;
  EXPECT_EQ(check_attention(recorded, {}).remarks.size(), 1U);
  recorded.alignment_given = true;
  EXPECT_TRUE(check_attention(recorded, {}).remarks.empty());
}

// What the kernel gave for a problem, all of it recorded, and for the permuted one.
AttentionCase all_recorded(const AttentionProblem& problem) {
  const AttentionAnswer answer = fast_attention(problem, true, 1);
  AttentionCase recorded = recorded_answer(problem, answer);
  for (Index i = problem.q_len(); i-- > 0;) recorded.perm.push_back(i);
  recorded.out_perm = fast_attention(permuted(problem, recorded.perm), false, 1).out;
  recorded.probe = CausalProbe{problem.k, problem.v, answer.out, problem.kv_len() / 2};
  validate(recorded);
  return recorded;
}

void expect_alike(const Verdict& parts, const Verdict& whole, std::uint64_t seed) {
  ASSERT_EQ(parts.checks.size(), whole.checks.size()) << "seed " << seed;
  for (std::size_t n = 0; n < whole.checks.size(); ++n) {
    const Check& want = whole.checks[n];
    const Check& got = parts.checks[n];
    EXPECT_EQ(got.name, want.name) << "seed " << seed;
    EXPECT_EQ(got.outcome, want.outcome) << "seed " << seed << ": " << want.name;
    EXPECT_EQ(got.max_error, want.max_error) << "seed " << seed << ": " << want.name;
    EXPECT_EQ(got.where, want.where) << "seed " << seed << ": " << want.name;
    // Sums over parts in another order.
    EXPECT_NEAR(got.mean_error, want.mean_error, 1e-12 * want.mean_error) << want.name;
    EXPECT_NEAR(got.limit, want.limit, 1e-12 * want.limit) << "seed " << seed << ": " << want.name;
  }
}

// No room for a whole sequence: one head at a time, and with maps 16 rows at a time.
TEST(CheckAttention, PartByPartGivesTheFiguresOfTheWhole) {
  for (std::uint64_t seed = 1000; seed < 1040; ++seed) {
    AttentionCase recorded = all_recorded(any_problem(seed));
    if (seed % 3 == 0) recorded.out_perm.reset();
    if (seed % 3 == 1) {
      recorded.weights.reset();
      recorded.scores.reset();
    }
    if (seed % 8 == 0 && recorded.out->size() > 7) recorded.out->values[7] += 0.25;
    const AttentionReport whole = check_attention(recorded, {});
    const AttentionReport parts =
        check_attention(recorded, {.threads = 2, .answers = true, .part_bytes = 1});
    expect_alike(parts.verdict, whole.verdict, seed);
    EXPECT_EQ(parts.kernel.outcome(), whole.kernel.outcome()) << "seed " << seed;
    EXPECT_EQ(parts.truth.lse.values, whole.truth.lse.values) << "seed " << seed;
    EXPECT_EQ(difference(parts.truth.out, whole.truth.out).max_error, 0) << "seed " << seed;
  }
}

TEST(CheckAttention, RowsOfAWindowNeedOnlyTheirKeys) {
  AttentionProblem problem = random_problem(
      {.heads = 1, .kv_heads = 1, .q_len = 1100, .kv_len = 1100, .head_dim = 2, .value_dim = 3},
      41);
  problem.rules.causal = true;
  problem.rules.window_left = 30;
  AttentionCase recorded = recorded_in(DType::kF32, problem);
  const std::vector<CasePart> plan = plan_parts(recorded, false, 1);
  ASSERT_EQ(plan.size(), 2U);
  EXPECT_EQ(plan[1].row, 1024);
  EXPECT_EQ(plan[1].key, 1024 - 30);
  EXPECT_EQ(plan[1].keys, 1100 - (1024 - 30));
  // Nearly as far off as may be, so that nothing is diagnosed, which would take most of the time.
  const AttentionReport honest = check_attention(recorded, {});
  constexpr std::size_t kPlace = 1090 * 3 + 1;
  recorded.out->values[kPlace] = honest.truth.out.values[kPlace] + 0.9 * honest.of_out.max_error;
  const Verdict parts = check_attention(recorded, {.part_bytes = 1}).verdict;
  EXPECT_EQ(parts.outcome(), Outcome::kPass);
  expect_alike(parts, check_attention(recorded, {}).verdict, 41);
  EXPECT_THAT(find(parts, "out").where, testing::ElementsAre(0, 0, 1090, 1));
}

TEST(CheckAttention, RecordsMustFitTheProblem) {
  AttentionCase recorded;
  recorded.problem = three_tokens();
  recorded.out = Tensor<double>({1, 1, 3, 3});
  EXPECT_THROW(validate(recorded), DataError);
  recorded.out.reset();
  recorded.perm = {0, 1, 1};
  EXPECT_THROW(validate(recorded), DataError);
}

}  // namespace
}  // namespace attn
