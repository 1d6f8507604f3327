#include "check/verdict/verdict.h"

#include <gtest/gtest.h>

namespace attn {
namespace {

TEST(Place, IsNamedAxisByAxis) {
  EXPECT_EQ(place_text({0, 5, 3, 47}), "batch 0, head 5, row 3, column 47");
  EXPECT_EQ(place_text({1, 2, 3}, kAxesOfRows), "batch 1, head 2, row 3");
  EXPECT_EQ(place_text({4, 2}, {"position", "feature"}), "position 4, feature 2");
  EXPECT_EQ(place_text({4, 2}), "(4, 2)");
}

}  // namespace
}  // namespace attn
