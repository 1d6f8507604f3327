#include "bench/machine.h"

#include <gtest/gtest.h>

#include <cmath>

namespace attn {
namespace {

TEST(Machine, SaysWhatTheSystemTells) {
  const Machine machine = this_machine();
  EXPECT_GE(machine.cores, 1);
  EXPECT_TRUE(std::isnan(machine.load) || machine.load >= 0);
  for (const Index bytes : {machine.l1_data_bytes, machine.l2_bytes, machine.l3_bytes}) {
    EXPECT_GE(bytes, 0);
    EXPECT_LT(bytes, Index{1} << 40);
  }
  if (machine.l1_data_bytes > 0 && machine.l2_bytes > 0) {
    EXPECT_LT(machine.l1_data_bytes, machine.l2_bytes);
  }
}

TEST(Machine, NamesItsBuild) {
  EXPECT_FALSE(build_type().empty());
  EXPECT_TRUE(compiler().starts_with("GNU ") || compiler().starts_with("Clang ")) << compiler();
}

}  // namespace
}  // namespace attn
