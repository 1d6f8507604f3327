#include "nn/kv_cache.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/dtype.h"
#include "core/error.h"

namespace attn {
namespace {

// Rows of two numbers: first, first + 1, ...
std::vector<float> numbers(Index rows, float first) {
  std::vector<float> all(static_cast<std::size_t>(2 * rows));
  std::iota(all.begin(), all.end(), first);
  return all;
}

void append(KvCache<float>& cache, Index layer, Index count, float first) {
  const Index rows = cache.batch() * count;
  std::vector<float> keys = numbers(rows, first);
  std::vector<float> values = numbers(rows, -first);
  cache.self(layer).append({keys.data(), rows, 2}, {values.data(), rows, 2},
                           {cache.batch(), count, nullptr});
}

std::vector<float> first_column(const KvCache<float>& cache, Index layer, Index row,
                                bool keys = true) {
  Arena arena;
  std::vector<float> all;
  for (const KvRun<float>& run : cache.self(layer).runs(row, arena)) {
    const Matrix<const float> part = keys ? run.k : run.v;
    for (Index i = 0; i < part.rows(); ++i) all.push_back(part(i, 0));
  }
  return all;
}

KvShape shape_of(Index layers, Index batch, Index capacity, Index page_size) {
  return {layers, batch, capacity, 1, 2, {page_size}};
}

TEST(KvCache, AppendsRowsToEverySequenceWhateverThePages) {
  for (const Index page_size : {0, 1, 2, 3, 64}) {
    SCOPED_TRACE(page_size);
    KvCache<float> cache(shape_of(2, 2, 5, page_size));
    for (const Index layer : {0, 1}) append(cache, layer, 2, 1);
    EXPECT_EQ(cache.length(), 2);
    for (const Index layer : {0, 1}) append(cache, layer, 1, 10);
    for (const Index layer : {0, 1}) {
      EXPECT_EQ(first_column(cache, layer, 0), (std::vector<float>{1, 3, 10}));
      EXPECT_EQ(first_column(cache, layer, 1), (std::vector<float>{5, 7, 12}));
      EXPECT_EQ(first_column(cache, layer, 1, false), (std::vector<float>{3, 5, -8}))
          << "values go up from -first";
    }
    EXPECT_THROW(append(cache, 0, 3, 0), ShapeError) << "beyond the capacity";
    EXPECT_EQ(cache.length(), 3);
    cache.truncate(1);
    EXPECT_EQ(first_column(cache, 1, 1), (std::vector<float>{5}));
  }
}

// Keys and values may be of types of their own, whatever the pages and whoever shares them.
TEST(KvCache, RowsOfOtherTypesComeBackRounded) {
  for (const Index page_size : {0, 2}) {
    KvShape shape{2, 1, 16, 1, 32, {page_size, 0, KvType::kQ8_0, KvType::kBF16}};
    KvCache<float> cache(shape);
    std::vector<float> rows(5 * 32);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = std::sin(static_cast<float>(i));
    const Matrix<float> five(rows.data(), 5, 32);
    for (const Index layer : {0, 1}) cache.self(layer).append(five, five, {1, 5, nullptr});
    const Index two[] = {0, 0};
    cache.fork(two);
    std::vector<float> more(2 * 32, 0.25F);
    const Matrix<float> one(more.data(), 2, 32);
    for (const Index layer : {0, 1}) cache.self(layer).append(one, one, {2, 1, nullptr});
    Arena arena;
    std::vector<float> keys, values;
    for (const KvRun<float>& run : cache.self(1).runs(1, arena)) {
      keys.insert(keys.end(), run.k.data(), run.k.data() + run.k.size());
      values.insert(values.end(), run.v.data(), run.v.data() + run.v.size());
    }
    ASSERT_EQ(keys.size(), 6U * 32);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_NEAR(keys[i], rows[i], 0.5 / 127 + 0x1p-11);
      EXPECT_EQ(values[i], bf16_to_float(float_to_bf16(rows[i])));
    }
    EXPECT_EQ(values.back(), 0.25F);
    EXPECT_EQ(cache.bytes() % (2 * (34 + 64)), 0);
    if (page_size == 2) {
      EXPECT_EQ(cache.bytes_of_rows(), (4 + 2 + 2) * 2 * (34 + 64)) << "four rows are shared";
    }
  }
}

TEST(KvCache, NeighbouringPagesAreOneRun) {
  KvCache<float> cache(shape_of(1, 1, 64, 4));
  append(cache, 0, 33, 0);
  Arena arena;
  EXPECT_EQ(cache.self(0).runs(0, arena).size(), 1U);
  KvCache<float> two(shape_of(1, 2, 64, 4));
  for (int step = 0; step < 9; ++step) append(two, 0, 1, 0);
  EXPECT_EQ(two.self(0).runs(0, arena).size(), 3U) << "their pages take turns";
}

TEST(KvCache, ForkedSequencesShareWhatTheyHaveInCommon) {
  for (const Index page_size : {0, 2, 4}) {
    SCOPED_TRACE(page_size);
    KvCache<float> cache(shape_of(2, 1, 16, page_size));
    for (const Index layer : {0, 1}) append(cache, layer, 5, 0);
    const Index before = cache.bytes();
    const Index three[] = {0, 0, 0};
    cache.fork(three);
    EXPECT_EQ(cache.bytes(), before);
    EXPECT_EQ(cache.batch(), 3);
    for (const Index layer : {0, 1}) append(cache, layer, 1, 100);
    for (const Index layer : {0, 1}) {
      EXPECT_EQ(first_column(cache, layer, 0), (std::vector<float>{0, 2, 4, 6, 8, 100}));
      EXPECT_EQ(first_column(cache, layer, 2), (std::vector<float>{0, 2, 4, 6, 8, 104}));
    }
    const Index common = page_size == 0 ? 0 : 5 / page_size * page_size;
    EXPECT_EQ(cache.bytes_of_rows(), (common + 3 * (6 - common)) * 2 * 2 * 2 * 4);
    const Index last[] = {2};
    cache.fork(last);
    EXPECT_EQ(first_column(cache, 1, 0), (std::vector<float>{0, 2, 4, 6, 8, 104}));
  }
}

TEST(KvCache, SomeSequencesAtATime) {
  KvCache<float> cache(shape_of(2, 3, 16, 2));
  const Index outer[] = {2, 0};
  cache.select(outer);
  EXPECT_EQ(cache.batch(), 2);
  for (const Index layer : {0, 1}) append(cache, layer, 3, 1);
  EXPECT_EQ(cache.length(0), 3);
  const Index all[] = {0, 1, 2};
  cache.select(all);
  EXPECT_EQ(cache.length(1), 0);
  EXPECT_THROW(cache.length(), ShapeError) << "they are of unequal length";
  for (const Index layer : {0, 1}) append(cache, layer, 1, 50);
  EXPECT_EQ(first_column(cache, 1, 0), (std::vector<float>{7, 9, 11, 50}));
  EXPECT_EQ(first_column(cache, 1, 1), (std::vector<float>{52}));
  cache.remove(0);
  EXPECT_EQ(cache.sequences(), 2);
  EXPECT_EQ(first_column(cache, 1, 1), (std::vector<float>{1, 3, 5, 54}));
  const Index twice[] = {0, 0};
  EXPECT_THROW(cache.select(twice), ShapeError);
}

TEST(KvCache, AFullPoolRefusesWholePassesAndChangesNothing) {
  KvShape shape = shape_of(2, 2, 16, 2);
  shape.layout.most_pages = 3;
  KvCache<float> cache(shape);
  for (const Index layer : {0, 1}) append(cache, layer, 2, 0);
  EXPECT_THROW(append(cache, 0, 1, 0), DataError) << "two pages are wanted, one is there";
  EXPECT_EQ(cache.length(), 2);
  EXPECT_EQ(cache.bytes_of_rows(), 2 * 2 * 2 * 2 * 2 * 4);
  const Index one[] = {1};
  cache.select(one);
  for (const Index layer : {0, 1}) append(cache, layer, 1, 7);
  EXPECT_EQ(cache.length(), 3);
}

TEST(KvCache, RowsThatAWindowLeftAreGivenBack) {
  KvCache<float> cache(shape_of(1, 1, 64, 2));
  append(cache, 0, 7, 0);
  cache.forget_before(0, 5);
  EXPECT_EQ(cache.self(0).first(0), 4);
  EXPECT_EQ(cache.length(), 7) << "places go on";
  EXPECT_EQ(first_column(cache, 0, 0), (std::vector<float>{8, 10, 12}));
  append(cache, 0, 1, 90);
  EXPECT_EQ(first_column(cache, 0, 0), (std::vector<float>{8, 10, 12, 90}));
  EXPECT_EQ(cache.bytes(), 2 * 2 * 2 * 2 * 4) << "two pages of two rows";
}

TEST(KvCache, RowsThatWereCountedOnlyAreNotRead) {
  KvCache<float> cache(shape_of(1, 1, 8, 2));
  append(cache, 0, 1, 1);
  cache.self(0).take_room({1, 2, nullptr});
  EXPECT_EQ(cache.length(), 3);
  EXPECT_EQ(cache.bytes(), 2 * 2 * cache.row_bytes()) << "pages are counted as if written";
  Arena arena;
  EXPECT_THROW(cache.self(0).runs(0, arena), ShapeError);
  const Index twice[] = {0, 0};
  cache.fork(twice);
  EXPECT_THROW(cache.self(0).take_room({2, 1, nullptr}), ShapeError) << "a page would be copied";
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
