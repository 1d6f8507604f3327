#include "check/cases/case_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace attn {
namespace {

using testing::ElementsAre;

TEST(CaseArguments, OneHeadOfOneSequenceUnlessAxesSayMore) {
  const AttentionCase recorded = case_from_arguments(
      {{"q", "1 0; 0 1; 1 1"}, {"lse", "1 2 3"}, {"mask", "1 1 0"}, {"perm", "2 0 1"}}, {}, {});
  EXPECT_THAT(recorded.problem.q.shape, ElementsAre(1, 1, 3, 2));
  EXPECT_THAT(recorded.lse->shape, ElementsAre(1, 1, 3));
  EXPECT_THAT(recorded.problem.mask->shape, ElementsAre(1, 1, 1, 3));
  EXPECT_THAT(recorded.perm, ElementsAre(2, 0, 1));
}

TEST(CaseArguments, KeysAreQueriesAndValuesAreKeysUnlessGiven) {
  const AttentionCase recorded = case_from_arguments({{"q", "1 0"}, {"k", "2 3; 4 5"}}, {}, {});
  EXPECT_THAT(recorded.problem.v.values, ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(recorded.problem.q.shape, ElementsAre(1, 1, 1, 2));
}

TEST(CaseArguments, RulesApply) {
  CaseAttributes rules;
  rules.causal = true;
  EXPECT_TRUE(case_from_arguments({{"q", "1"}}, rules, {}).problem.rules.causal);
}

TEST(CaseArguments, WhatDoesNotFitIsRefused) {
  EXPECT_THROW(case_from_arguments({{"k", "1 0"}}, {}, {}), UsageError);
  EXPECT_THROW(case_from_arguments({{"q", "1 0"}, {"kv_lens", "0.5"}}, {}, {}), UsageError);
  EXPECT_THROW(case_from_arguments({{"q", "1 0"}, {"sinks", "1; 2"}}, {}, {}), UsageError);
  EXPECT_THROW(case_from_arguments({{"q", "1 0"}, {"k", "1 0 0"}}, {}, {}), DataError);
}

}  // namespace
}  // namespace attn
