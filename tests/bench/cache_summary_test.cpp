#include "bench/cache_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace attn {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

CacheRow decode_row(const CacheWay& cache, Index tokens, std::int64_t nanoseconds,
                    Index subject = 0) {
  CacheRow row;
  row.phase = "decode";
  row.subject = subject;
  row.kv_heads = subject + 1;
  row.cache = cache;
  row.work = {0, tokens};
  row.tokens = tokens;
  row.key_rows = row.cache.cached() ? tokens : tokens * (tokens + 1) / 2;
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

// Looking through all rows for each would take minutes.
TEST(CacheSummary, PairsASweepOverManyLengths) {
  constexpr Index kLengths = 100'000;
  std::vector<CacheRow> rows;
  rows.reserve(2 * kLengths);
  for (Index n = 1; n <= kLengths; ++n) rows.push_back(decode_row(CacheKind::kContiguous, n, 0));
  for (Index n = kLengths; n >= 1; --n) rows.push_back(decode_row(CacheKind::kNone, n, 0));
  const std::vector<CachePair> pairs = cache_pairs(rows);
  ASSERT_EQ(pairs.size(), static_cast<std::size_t>(kLengths));
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_EQ(pairs[i].with, &rows[i]);
    EXPECT_EQ(pairs[i].without, &rows[rows.size() - 1 - i]);
  }
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

// Rows whose steps take these times, with the cache and without.
std::vector<CacheRow> steps(const std::vector<std::int64_t>& with,
                            const std::vector<std::int64_t>& without, Index subject = 0,
                            const CacheWay& cache = CacheKind::kContiguous) {
  const auto tokens = static_cast<Index>(with.size());
  std::vector<CacheRow> rows = {decode_row(cache, tokens, 1, subject),
                                decode_row(CacheKind::kNone, tokens, 1, subject)};
  for (const std::int64_t time : with) rows[0].steps.push_back(Samples({time}));
  for (const std::int64_t time : without) rows[1].steps.push_back(Samples({time}));
  return rows;
}

std::string saved_from(const std::string& which, const std::string& token, Index tokens) {
  return "crossover, " + which + ": the cache has saved time from token " + token +
         " on, to the last of " + std::to_string(tokens) + (tokens == 1 ? " token" : " tokens");
}

TEST(CacheSummary, CrossoverIsWhereTheSumOfStepsStaysAhead) {
  // After 1, 2, 3, 4 tokens: 5 to 3, 8 to 7, 11 to 12, 14 to 18.
  EXPECT_THAT(crossover_lines(steps({5, 3, 3, 3}, {3, 4, 5, 6})),
              ElementsAre(saved_from("1 kv head", "3", 4)));
  // Ahead at once, behind again after 2: only what stays counts.
  EXPECT_THAT(crossover_lines(steps({2, 9, 1, 1}, {3, 4, 6, 6})),
              ElementsAre(saved_from("1 kv head", "3", 4)));
  EXPECT_THAT(crossover_lines(steps({1}, {2})), ElementsAre(saved_from("1 kv head", "1", 1)));
}

TEST(CacheSummary, CrossoverMayBeNoneOrUnknown) {
  EXPECT_THAT(crossover_lines(steps({1, 9}, {2, 8})),
              ElementsAre("crossover, 1 kv head: none, 2 tokens take no longer without the cache"));
  EXPECT_THAT(crossover_lines(lengths({{0, 0}, {0, 0}})), IsEmpty());
}

TEST(CacheSummary, CrossoverIsOfTheLongestWorkOfEachSubjectAndCache) {
  std::vector<CacheRow> rows = steps({1}, {2});
  for (const std::vector<CacheRow>& more : {steps({3, 1}, {2, 4}), steps({1, 9}, {2, 8}, 1),
                                            steps({4, 4}, {2, 4}, 0, CacheKind::kPaged)}) {
    rows.insert(rows.end(), more.begin(), more.end());
  }
  rows.pop_back();  // without a cache once for both of them
  EXPECT_THAT(crossover_lines(rows),
              ElementsAre(saved_from("1 kv head, contiguous", "2", 2),
                          "crossover, 2 kv heads, contiguous: none, 2 tokens take no longer "
                          "without the cache",
                          "crossover, 1 kv head, paged: none, 2 tokens take no longer without the "
                          "cache"));
}

TEST(CacheSummary, ThePromptIsTheFirstStep) {
  std::vector<CacheRow> rows = steps({1, 1}, {9, 9});
  for (std::size_t i : {0U, 1U}) {
    rows[i].work = {4, 3};
    CacheRow prefill = rows[i];
    prefill.phase = "prefill";
    prefill.wall = Samples({10});
    prefill.steps.clear();
    CacheRow total = prefill;
    total.phase = "total";
    rows.push_back(prefill);
    rows.push_back(total);
  }
  EXPECT_THAT(cumulative_ns(rows, rows[0]), ElementsAre(10, 11, 12));
  EXPECT_THAT(crossover_lines(rows),
              ElementsAre("crossover, 1 kv head: the cache has saved time from new token 2 on, to "
                          "the last of P 4, N 3"));
}

TEST(CacheSummary, RatiosNameTheCacheWhereThereAreSeveral) {
  std::vector<CacheRow> rows = lengths({{10, 20}});
  rows.push_back(decode_row(CacheKind::kPaged, 1, 40));
  EXPECT_THAT(
      ratio_lines(cache_pairs(rows)),
      ElementsAre(
          "without the cache, 1 token, 1 kv head, against contiguous: 1.0 times the rows, 2.0 "
          "times the time",
          "without the cache, 1 token, 1 kv head, against paged: 1.0 times the rows, 0.5 times "
          "the time"));
  // Of caches that store otherwise only the rows speak, unless there is no other.
  rows = {decode_row({CacheKind::kPaged, KvType::kQ8_0, KvType::kF16}, 1, 0),
          decode_row(CacheKind::kNone, 1, 0)};
  EXPECT_EQ(exact_pairs(cache_pairs(rows)).size(), 1U);
  rows.push_back(decode_row(CacheKind::kContiguous, 1, 0));
  ASSERT_EQ(exact_pairs(cache_pairs(rows)).size(), 1U);
  EXPECT_EQ(exact_pairs(cache_pairs(rows))[0].with, &rows[2]);
}

TEST(CacheSummary, VerdictOnStoredTypesSaysWhatTheyCost) {
  Agreement agreement;
  const KvTypes types = {KvType::kQ8_0, KvType::kQ4_0};
  agreement.add(types, 1e-6, 2e-3);
  agreement.add_storage_error(types, 0.03);
  EXPECT_THAT(verdict_lines(agreement, false),
              ElementsAre("counts agree with their formulas",
                          "q8_0/q4_0: outputs agree: largest difference 1.0e-06, bound 2.0e-03; "
                          "storing so moves them by up to 3 % of the largest"));
  EXPECT_EQ(verdict_lines(agreement, true).back(),
            "q8_0/q4_0: outputs agree within 0.13 of the largest");
  EXPECT_TRUE(agreement.outputs);
  agreement.add(types, 3e-3, 2e-3);
  EXPECT_FALSE(agreement.outputs);
  EXPECT_THAT(verdict_lines(agreement, true).back(), testing::HasSubstr("OUTPUTS DIFFER"));
  EXPECT_THAT(
      verdict_lines(agreement, true, false),
      ElementsAre("counts agree with their formulas", "outputs were not compared (--verify does)"));
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
