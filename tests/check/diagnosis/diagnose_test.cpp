#include "check/diagnosis/diagnose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "check/check_attention.h"
#include "check/mistakes/suppositions.h"
#include "check/problems.h"
#include "check/verdict/explanations.h"

namespace attn {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;

// One problem for each part of attention that can be got wrong.
std::vector<AttentionProblem> problems() {
  std::vector<AttentionProblem> all;
  const auto add = [&all](const ProblemShape& shape, const auto& change) {
    all.push_back(random_problem(shape, 50 + all.size()));
    change(all.back());
    validate(all.back());
  };
  add({.batch = 2, .heads = 3, .kv_heads = 3, .q_len = 6, .kv_len = 6}, [](AttentionProblem&) {});
  add({.batch = 2, .heads = 4, .kv_heads = 2, .q_len = 5, .kv_len = 11, .value_dim = 3},
      [](AttentionProblem& p) {
        p.rules.causal = true;
        p.rules.causal_alignment = CausalAlignment::kBottomRight;
        p.rules.window_left = 4;
        p.kv_lens = {11, 7};
      });
  add({.q_len = 7, .kv_len = 7}, [](AttentionProblem& p) {
    p.rules.causal = true;
    p.rules.softcap = 2;
    p.sinks = {0.5, -1};
    p.alibi_slopes = {0.3, 0.1};
  });
  add({.q_len = 4, .kv_len = 6}, [](AttentionProblem& p) {
    p.mask = Tensor<double>({1, 1, 4, 6});
    for (std::size_t n = 0; n < 24; ++n) p.mask->values[n] = n / 6 == 1 || n % 4 == 3 ? 0 : 1;
  });
  add({.q_len = 4, .kv_len = 6}, [](AttentionProblem& p) {
    p.rules.mask_type = MaskType::kAdditive;
    p.rules.scale = 0.3;
    Rng rng(7, RandomPurpose::kExample);
    p.mask = normal_tensor({1, 2, 4, 6}, rng);
  });
  add({.q_len = 6, .kv_len = 9}, [](AttentionProblem& p) {
    p.cu_seqlens_q = {0, 2, 6};
    p.cu_seqlens_k = {0, 4, 9};
    p.rules.window_left = 2;
    p.rules.window_right = 1;
  });
  return all;
}

std::vector<std::string> names_for(const AttentionCase& recorded) {
  return names_of(check_attention(recorded, {.threads = 2}).verdict.diagnosis);
}

AttentionCase with_out(const AttentionProblem& problem, Tensor<double> out) {
  AttentionCase recorded;
  recorded.problem = problem;
  for (double& value : out.values) value = static_cast<double>(static_cast<float>(value));
  recorded.out = std::move(out);
  return recorded;
}

TEST(Diagnose, EveryMistakeIsFoundByItsName) {
  std::set<std::string> found;
  for (const AttentionProblem& problem : problems()) {
    for (const Supposition& supposed : suppositions(problem)) {
      const AttentionCase recorded = with_out(problem, supposed.answer(problem, 1).out);
      const AttentionReport report = check_attention(recorded, {});
      if (report.verdict.checks.front().outcome == Outcome::kPass) continue;  // it changes nothing
      // Where a stand-in for minus infinity moves dead rows alone, it makes them means.
      const bool means = supposed.name == "mask-sentinel-finite";
      EXPECT_THAT(names_of(report.verdict.diagnosis),
                  Contains(AnyOf(supposed.name, means ? "fully-masked-mean" : supposed.name)))
          << supposed.detail;
      EXPECT_NE(find_explanation(supposed.name), nullptr) << supposed.name;
      found.insert(supposed.name);
    }
  }
  // Of all names that a recorded out can show; the rest need maps, lse or a probe.
  for (const char* name : {"missing-scale",      "wrong-scale",          "scale-from-width",
                           "causal-missing",     "causal-alignment",     "causal-off-by-one",
                           "window-off-by-one",  "window-ignored",       "gqa-tiled",
                           "head-layout",        "softmax-axis",         "mask-inverted",
                           "mask-ignored",       "padding-ignored",      "mask-added-as-numbers",
                           "mask-before-scale",  "mask-after-softmax",   "softmax-over-everything",
                           "head-dim-truncated", "softcap-missing",      "softcap-after-mask",
                           "fully-masked-mean",  "fully-masked-nan",     "tail-tile",
                           "online-rescale",     "sink-ignored",         "sink-scaled",
                           "alibi-missing",      "alibi-sign",           "alibi-slopes",
                           "batch-reuse",        "mask-sentinel-finite", "rows-not-normalised",
                           "cache-ignored",      "cache-order"}) {
    EXPECT_THAT(found, Contains(name));
  }
}

TEST(Diagnose, OverflowIsToldFromScoresThatFloatsCannotHold) {
  AttentionProblem problem = random_problem({.q_len = 4, .kv_len = 6, .head_dim = 64}, 61);
  for (Index c = 0; c < 64; ++c) {
    problem.q.values[static_cast<std::size_t>(64 + c)] = 48;
    problem.k.values[static_cast<std::size_t>(128 + c)] = 48;  // 147456 in query 1, key 2
  }
  problem.rules.dtype = DType::kF16;
  const AttentionAnswer f16 = twisted_attention(problem, Twist::kRawScoresInF16, 0, 1);
  EXPECT_EQ(names_for(with_out(problem, f16.out)).front(), "fp16-overflow");
  problem.rules.dtype = DType::kF32;
  const AttentionAnswer naive = twisted_attention(problem, Twist::kNoMaxSubtraction, 0, 1);
  EXPECT_EQ(names_for(with_out(problem, naive.out)).front(), "no-max-subtraction");
}

TEST(Diagnose, TwoMistakesTogetherAreBothNamed) {
  AttentionProblem problem = random_problem({.heads = 4, .q_len = 6, .kv_len = 6}, 62);
  problem.rules.causal = true;
  AttentionProblem wrong = problem;
  wrong.rules.causal = false;
  wrong.rules.scale = 1;
  EXPECT_THAT(names_for(with_out(problem, reference_attention(wrong, false, 1).out)),
              ::testing::UnorderedElementsAre("causal-missing", "missing-scale"));
}

// Mistakes change what others look at (the mask, the lengths): every pair must bear the other.
TEST(Diagnose, PairsOfMistakesAreTriedWithoutHarm) {
  for (const AttentionProblem& problem : problems()) {
    Tensor<double> out = reference_attention(problem, false, 1).out;
    out.values[3] += 0.5;
    EXPECT_FALSE(names_for(with_out(problem, out)).empty());
    AttentionProblem poisoned = problem;
    poisoned.q.values[5] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_FALSE(names_for(with_out(poisoned, out)).empty());
  }
}

TEST(Diagnose, WhatNoMistakeExplainsIsANumericError) {
  const AttentionProblem problem = random_problem({}, 63);
  Tensor<double> out = reference_attention(problem, false, 1).out;
  out.values[17] += 0.01;
  EXPECT_THAT(names_for(with_out(problem, out)), ElementsAre("numeric-error"));
  out.values[17] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(names_for(with_out(problem, out)), ElementsAre("non-finite"));
}

TEST(Diagnose, LogSumExpHasMistakesOfItsOwn) {
  AttentionCase recorded;
  recorded.problem = random_problem({}, 64);
  const AttentionAnswer truth = reference_attention(recorded.problem, true, 1);
  recorded.lse = truth.lse;
  for (double& value : recorded.lse->values) value /= std::log(2.0);
  EXPECT_THAT(names_for(recorded), ElementsAre("lse-base2"));
  recorded.lse = truth.lse;
  for (Index row = 0; row < 10; ++row) {
    const double* scores = truth.scores.data() + row * 5;
    recorded.lse->data()[row] -= *std::max_element(scores, scores + 5);
  }
  EXPECT_THAT(names_for(recorded), ElementsAre("lse-max-missing"));
}

TEST(Diagnose, LawsNameWhatNothingElseExplains) {
  AttentionCase recorded;
  recorded.problem = random_problem({}, 65);
  const AttentionAnswer truth = reference_attention(recorded.problem, true, 1);
  recorded.out = truth.out;
  recorded.perm = {1, 2, 3, 4, 0};
  recorded.out_perm = truth.out;
  EXPECT_THAT(names_for(recorded), ElementsAre("not-equivariant"));

  AttentionCase leak;
  leak.problem = recorded.problem;
  leak.problem.rules.causal = true;
  leak.weights = reference_attention(leak.problem, true, 1).weights;
  leak.weights->values[3] = 0.01;
  EXPECT_THAT(names_for(leak), ::testing::Contains("causal-leak"));
}

TEST(Diagnose, RowsMaySeeLaterKeysEachAsManyAsItLikes) {
  AttentionProblem problem = random_problem({.q_len = 7, .kv_len = 7}, 67);
  problem.rules.causal = true;
  problem.sinks = {0.5, -1};
  AttentionProblem open = problem;
  open.rules.causal = false;
  open.mask = Tensor<double>({1, 2, 7, 7});
  for (Index n = 0; n < 2 * 49; ++n) {
    const Index i = n / 7 % 7;
    const Index later = n >= 49 && i % 2 == 1 ? i % 4 : 0;  // head 0 is right
    open.mask->data()[n] = n % 7 <= i + later ? 1 : 0;
  }
  const AttentionCase leak = with_out(problem, reference_attention(open, false, 1).out);
  EXPECT_THAT(names_for(leak), ElementsAre("causal-leak"));
  AttentionCase more = leak;
  more.out->values.back() += 0.1;  // a row that no number of keys explains
  EXPECT_THAT(names_for(more), ElementsAre("numeric-error"));
}

TEST(Diagnose, RowsThatAreAllHiddenMayHoldTheMean) {
  AttentionProblem problem = random_problem({.q_len = 1, .kv_len = 9}, 68);
  problem.mask = Tensor<double>({1, 1, 1, 9});  // zeros: all is hidden, and the truth is 0
  const Supposition mean{"", [](const AttentionProblem& p) { return p; }, Twist::kMeanWhereDead};
  EXPECT_THAT(names_for(with_out(problem, mean.answer(problem, 1).out)),
              Contains("fully-masked-mean"));
}

TEST(Diagnose, NumbersInAHiddenRowAreNoFactor) {
  AttentionProblem problem = random_problem({.q_len = 4, .kv_len = 2}, 70);
  problem.rules.causal = true;
  problem.rules.causal_alignment = CausalAlignment::kBottomRight;
  Tensor<double> out = reference_attention(problem, false, 1).out;
  out.values[0] = 0.3;
  EXPECT_THAT(names_for(with_out(problem, out)), ElementsAre("numeric-error"));
}

TEST(Diagnose, AnOutputOfZerosIsConstant) {
  const AttentionProblem problem = random_problem({}, 69);
  Tensor<double> out = reference_attention(problem, false, 1).out;
  std::fill(out.values.begin(), out.values.end(), 0.0);
  EXPECT_THAT(names_for(with_out(problem, out)), ElementsAre("constant-output"));
}

TEST(Diagnose, NothingIsSaidOfWhatPasses) {
  const AttentionProblem problem = random_problem({}, 66);
  EXPECT_THAT(names_for(with_out(problem, reference_attention(problem, false, 1).out)),
              ::testing::IsEmpty());
}

}  // namespace
}  // namespace attn
