#include "bench/cache_row.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace attn {
namespace {

Index rows(std::string_view phase, bool cached, const DecodeWork& work) {
  return key_row_formula(phase, cached, work).rows;
}

TEST(KeyRowFormula, GivenTokensByHand) {
  EXPECT_EQ(rows("decode", true, {0, 4}), 4);
  EXPECT_EQ(rows("decode", false, {0, 4}), 1 + 2 + 3 + 4);
  EXPECT_EQ(rows("prefill", true, {0, 4}), 4);
  // The tutorial's.
  EXPECT_EQ(rows("decode", false, {0, 512}), 131'328);
  EXPECT_EQ(key_row_formula("decode", false, {0, 4}).text, "n(n+1)/2");
}

// A prompt of 5 and 3 new tokens: steps of 5, 6 and 7 tokens.
TEST(KeyRowFormula, PromptAndNewTokensByHand) {
  EXPECT_EQ(rows("prefill", true, {5, 3}), 5);
  EXPECT_EQ(rows("decode", true, {5, 3}), 2);
  EXPECT_EQ(rows("total", true, {5, 3}), 7);
  EXPECT_EQ(rows("prefill", false, {5, 3}), 5);
  EXPECT_EQ(rows("decode", false, {5, 3}), 6 + 7);
  EXPECT_EQ(rows("total", false, {5, 3}), 5 + 6 + 7);
  EXPECT_EQ(rows("total", false, {5, 1}), 5);
}

TEST(KeyRowFormula, APromptOfOneIsGivenTokens) {
  for (const Index n : {1, 2, 9, 512}) {
    for (const bool cached : {true, false})
      EXPECT_EQ(rows("total", cached, {1, n}), rows("decode", cached, {0, n})) << n;
  }
}

TEST(CacheRow, RowsBeyond63BitsAreRefused) {
  constexpr Index kMany = Index{1} << 31;
  EXPECT_EQ(key_row_formula("decode", false, {0, kMany}).rows, kMany * (kMany + 1) / 2);
  EXPECT_THROW(key_row_formula("decode", false, {0, 2 * kMany}), UsageError);
  EXPECT_THROW(key_row_formula("total", false, {2 * kMany, 2}), UsageError);
}

}  // namespace
}  // namespace attn
