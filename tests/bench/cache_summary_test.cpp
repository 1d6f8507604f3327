#include "bench/cache_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace attn {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

CacheRow decode_row(CacheKind cache, Index tokens, std::int64_t nanoseconds, Index subject = 0) {
  CacheRow row;
  row.phase = "decode";
  row.subject = subject;
  row.kv_heads = subject + 1;
  row.cache = cache;
  row.work = {0, tokens};
  row.tokens = tokens;
  row.key_rows = cache == CacheKind::kNone ? tokens * (tokens + 1) / 2 : tokens;
  if (nanoseconds > 0) row.wall.add(nanoseconds);
  return row;
}

std::vector<CacheRow> lengths(const std::vector<std::pair<std::int64_t, std::int64_t>>& times,
                              Index subject = 0) {
  std::vector<CacheRow> rows;
  Index tokens = 1;
  for (const auto& time : times) {
    rows.push_back(decode_row(CacheKind::kContiguous, tokens, time.first, subject));
    rows.push_back(decode_row(CacheKind::kNone, tokens, time.second, subject));
    tokens *= 2;
  }
  return rows;
}

TEST(CacheSummary, PairsTheWholeOfEachWork) {
  std::vector<CacheRow> rows = lengths({{10, 20}, {30, 90}});
  rows[0].phase = "prefill";  // a part is no whole
  const std::vector<CachePair> pairs = cache_pairs(rows);
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0].with, &rows[2]);
  EXPECT_EQ(pairs[0].without, &rows[3]);
  EXPECT_EQ(pairs[0].time_ratio(), 3);
  EXPECT_EQ(pairs[0].row_ratio(), 1.5);  // 3 rows against 2
}

TEST(CacheSummary, TotalIsTheWholeWhereThereIsAPrompt) {
  std::vector<CacheRow> rows = lengths({{10, 20}});
  for (CacheRow& row : rows) row.work.prompt = 4;
  EXPECT_THAT(cache_pairs(rows), IsEmpty());
  for (CacheRow& row : rows) row.phase = "total";
  EXPECT_EQ(cache_pairs(rows).size(), 1U);
}

TEST(CacheSummary, RatioSaysTheTimeOnlyWhereItWasMeasured) {
  const std::vector<CacheRow> counted = {decode_row(CacheKind::kContiguous, 512, 0),
                                         decode_row(CacheKind::kNone, 512, 0)};
  EXPECT_THAT(ratio_lines(cache_pairs(counted)),
              ElementsAre("without the cache, 512 tokens, 1 kv head: 256.5 times the rows"));
  const std::vector<CacheRow> timed = {decode_row(CacheKind::kContiguous, 512, 10),
                                       decode_row(CacheKind::kNone, 512, 52)};
  EXPECT_THAT(ratio_lines(cache_pairs(timed)),
              ElementsAre("without the cache, 512 tokens, 1 kv head: 256.5 times the rows, 5.2 "
                          "times the time"));
}

TEST(CacheSummary, CrossoverIsWhereTheCacheStartsToPay) {
  // Slower, slower, faster, faster at 1, 2, 4, 8 tokens.
  EXPECT_THAT(
      crossover_lines(cache_pairs(lengths({{9, 5}, {9, 8}, {9, 10}, {9, 99}}))),
      ElementsAre("crossover, 1 kv head: the cache is faster from 4 tokens on, of those measured"));
  // Faster once and slower again later: only what stays counts.
  EXPECT_THAT(
      crossover_lines(cache_pairs(lengths({{9, 10}, {9, 8}, {9, 10}}))),
      ElementsAre("crossover, 1 kv head: the cache is faster from 4 tokens on, of those measured"));
}

TEST(CacheSummary, CrossoverMayBeNoneOrUnknown) {
  EXPECT_THAT(
      crossover_lines(cache_pairs(lengths({{9, 10}, {9, 8}}))),
      ElementsAre("crossover, 1 kv head: none, the longest decodes no faster with the cache"));
  EXPECT_THAT(crossover_lines(cache_pairs(lengths({{9, 10}}))), IsEmpty());
  EXPECT_THAT(crossover_lines(cache_pairs(lengths({{0, 0}, {0, 0}}))), IsEmpty());
}

TEST(CacheSummary, CrossoverForEachSubject) {
  std::vector<CacheRow> rows = lengths({{9, 10}, {9, 10}});
  const std::vector<CacheRow> more = lengths({{9, 8}, {9, 10}}, 1);
  rows.insert(rows.end(), more.begin(), more.end());
  EXPECT_THAT(
      crossover_lines(cache_pairs(rows)),
      ElementsAre(
          "crossover, 1 kv head: the cache is faster from 1 tokens on, of those measured",
          "crossover, 2 kv heads: the cache is faster from 2 tokens on, of those measured"));
}

TEST(CacheSummary, VerdictSaysWhatWasNotCompared) {
  Agreement agreement;
  EXPECT_THAT(verdict_lines(agreement, false),
              ElementsAre("counts agree with their formulas",
                          "outputs were not compared: there is one way only"));
}

TEST(CacheSummary, PortableVerdictHasNoDigitsOfThisProcessor) {
  Agreement agreement;
  agreement.compared = true;
  agreement.max_difference = 1.234e-7;
  agreement.bound = 1e-5;
  EXPECT_EQ(verdict_lines(agreement, true).back(), "outputs agree within 1e-05 of the largest");
  EXPECT_EQ(verdict_lines(agreement, false).back(),
            "outputs agree: largest difference 1.2e-07, bound 1.0e-05 (1e-05 of the largest)");
  agreement.outputs = agreement.counts = false;
  agreement.max_difference = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(verdict_lines(agreement, true),
              ElementsAre("COUNTS DIFFER from their formulas",
                          "OUTPUTS DIFFER: largest difference nan, bound 1.0e-05 (1e-05 of the "
                          "largest)"));
}

}  // namespace
}  // namespace attn
