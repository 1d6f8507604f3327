#include "check/verdict/joint_diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attn {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(JoinDiagnoses, ANameThatFitsAllIsTheJointOne) {
  const JointDiagnosis joint = join_diagnoses({{"a", "b"}, {"c", "b"}, {"b"}});
  EXPECT_THAT(joint.common, ElementsAre("b"));
}

TEST(JoinDiagnoses, WhereNoneDoesEachIsCounted) {
  const JointDiagnosis joint = join_diagnoses({{"a", "b"}, {"b"}, {"numeric-error"}});
  EXPECT_THAT(joint.common, IsEmpty());
  EXPECT_THAT(joint.others, ElementsAre(Pair("b", 2), Pair("a", 1)));
  EXPECT_THAT(join_diagnoses({{"numeric-error"}, {"numeric-error"}}).common, IsEmpty());
}

}  // namespace
}  // namespace attn
