#include "nn/pass.h"

#include <gtest/gtest.h>

namespace attn {
namespace {

TEST(Workspace, WakesThreadsForLargeWorkOnly) {
  EXPECT_EQ(Workspace(4).threads_for(64 * 64), 1) << "one row through a small matrix";
  EXPECT_EQ(Workspace(4).threads_for(4096 * 4096), 4);
  EXPECT_EQ(Workspace(0).threads_for(4096 * 4096), 1);
}

TEST(KeyRowCounts, EachIsWhatAllProjectionsShare) {
  KeyRowCounts counts;
  EXPECT_THROW(counts.each(), ShapeError);
  counts.add("blocks.0.attn", 3);
  counts.add("blocks.1.attn", 1);
  EXPECT_THROW(counts.each(), ShapeError);
  counts.add("blocks.1.attn", 2);
  EXPECT_EQ(counts.each(), 3);
}

}  // namespace
}  // namespace attn
