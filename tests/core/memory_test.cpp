#include "core/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/error.h"

namespace attn {
namespace {

std::string complaint(double bytes) {
  try {
    require_memory("training", bytes);
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

TEST(Memory, WhatIsThereIsGranted) {
  EXPECT_GT(available_memory(), Index{1} << 20);
  EXPECT_EQ(complaint(1024), "");
}

TEST(Memory, WhatIsNotThereIsRefusedWithBothSizes) {
  EXPECT_THAT(complaint(0x1p60),
              testing::MatchesRegex("training needs 1 EiB of memory, .* are free"));
}

TEST(Memory, SizesPast63BitsAreRefusedToo) {
  EXPECT_THAT(complaint(1e30), testing::StartsWith("training needs more than 8 EiB of memory, "));
}

}  // namespace
}  // namespace attn
