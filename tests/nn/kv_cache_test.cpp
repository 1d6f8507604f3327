#include "nn/kv_cache.h"

#include <gtest/gtest.h>

#include <numeric>

namespace attn {
namespace {

TEST(KvSlot, AppendsRowsToEverySequence) {
  KvSlot<float> slot({1, 2, 3, 1, 2});
  std::vector<float> rows(8);
  std::iota(rows.begin(), rows.end(), 1.0F);  // 2 sequences of 2 rows of 2
  const Matrix<float> two(rows.data(), 4, 2);
  slot.append(two, two, {2, 2, nullptr});
  EXPECT_EQ(slot.length(), 2);
  slot.append(two.row_block(0, 2), two.row_block(2, 2), {2, 1, nullptr});
  const KvRun<float> first = slot.run(0);
  const KvRun<float> second = slot.run(1);
  ASSERT_EQ(second.k.rows(), 3);
  EXPECT_EQ(first.k(0, 0), 1);
  EXPECT_EQ(first.k(1, 1), 4);
  EXPECT_EQ(second.k(0, 0), 5);
  EXPECT_EQ(second.k(2, 0), 3);
  EXPECT_EQ(second.v(2, 1), 8);
  EXPECT_THROW(slot.append(two.row_block(0, 2), two.row_block(0, 2), {2, 1, nullptr}), ShapeError);
  slot.truncate(1);
  EXPECT_EQ(slot.run(0).k.rows(), 1);
  EXPECT_THROW(slot.truncate(2), ShapeError);
}

// 24 layers x 16 heads x 64 x 2,000 tokens are 187.5 MiB in 16 bits, so 375 MiB here in 32; an
// eighth of the heads takes an eighth.
TEST(KvCache, BytesAreTheFormula) {
  KvShape shape{24, 1, 2000, 16, 64};
  EXPECT_EQ(KvCache<float>(shape).bytes(), 2 * 196608000);
  shape.kv_heads = 2;
  EXPECT_EQ(KvCache<float>(shape).bytes(), 2 * 196608000 / 8);
}

TEST(KvCache, RefusesCountsBelowOneAndBeyondMemory) {
  EXPECT_THROW(KvCache<float>({0, 1, 8, 1, 1}), UsageError);
  EXPECT_THROW(KvCache<float>({1, 1, -1, 1, 1}), UsageError);
  EXPECT_THROW(KvCache<float>({1, 1, Index{1} << 62, 1, 4}), UsageError);
}

TEST(KvCache, KeepsTheContextUntilItStartsAnew) {
  KvCache<float> cache({1, 1, 4, 1, 1}, 2);
  std::vector<float> rows = {1, 2};
  const Matrix<float> two(rows.data(), 2, 1);
  cache.self(0).append(two, two, {1, 2, nullptr});
  cache.cross(0)->append(two, two, {1, 2, nullptr});
  cache.truncate(1);
  EXPECT_EQ(cache.length(), 1);
  EXPECT_EQ(cache.cross(0)->length(), 2);
  cache.truncate(0);
  EXPECT_EQ(cache.cross(0)->length(), 0);
  KvCache<float> without({1, 1, 4, 1, 1});
  EXPECT_EQ(without.cross(0), nullptr);
}

}  // namespace
}  // namespace attn
