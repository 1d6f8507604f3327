#include "sizing/paging.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace attn {
namespace {

const Reservation& way(const std::vector<Reservation>& all, const std::string& name) {
  for (const Reservation& one : all) {
    if (one.name == name) return one;
  }
  throw std::logic_error("no way " + name);
}

TEST(Paging, ByHand) {
  const auto ways = reservations({5, 16, 33}, 64, {1, 16}, 0);
  EXPECT_EQ(way(ways, "contiguous").reserved, 3 * 64);
  EXPECT_EQ(way(ways, "contiguous").used, 54);
  EXPECT_EQ(way(ways, "power of two").reserved, 16 + 16 + 64);
  EXPECT_EQ(way(ways, "pages of 16").reserved, 16 + 16 + 48);
  EXPECT_EQ(way(ways, "pages of 16").table, 1 + 1 + 3);
  EXPECT_EQ(way(ways, "pages of 1").waste(), 0.0);
  EXPECT_DOUBLE_EQ(way(ways, "pages of 16").waste(), 1.0 - 54.0 / 80.0);
}

TEST(Paging, FullPagesOfAPrefixAreHeldOnce) {
  // A prefix of 20 fills one page of 16; 4 of its tokens are in each sequence's own second page.
  const auto ways = reservations({24, 40}, 64, {16}, 20);
  EXPECT_EQ(way(ways, "pages of 16").reserved, 16 + 16 + 32);
  EXPECT_EQ(way(ways, "pages of 16").used, 64 - 16);
  EXPECT_THROW((void)reservations({10}, 64, {16}, 20), UsageError);
  EXPECT_THROW((void)reservations({65}, 64, {16}, 0), UsageError);
}

// Kwon et al. 2023, figure 2: contiguous systems use 20 to 38 % of what they reserve, pages of 16
// more than 96 %. Requests like theirs: about 500 tokens of at most 2048.
TEST(Paging, HasTheShapeOfThePagedAttentionPaper) {
  const auto lengths = drawn_lengths("lognormal:500:0.8", 2000, 2048, 0);
  const auto ways = reservations(lengths, 2048, {1, 16, 128}, 0);
  const double contiguous = 1 - way(ways, "contiguous").waste();
  EXPECT_GT(contiguous, 0.20);
  EXPECT_LT(contiguous, 0.38);
  EXPECT_GT(1 - way(ways, "pages of 16").waste(), 0.96);
  EXPECT_GT(way(ways, "pages of 128").waste(), way(ways, "pages of 16").waste());
  EXPECT_GT(way(ways, "pages of 16").table, way(ways, "pages of 128").table);
}

TEST(Paging, DrawsTheSameLengthsFromTheSameSeed) {
  EXPECT_EQ(drawn_lengths("uniform:3:5", 50, 100, 1), drawn_lengths("uniform:3:5", 50, 100, 1));
  EXPECT_NE(drawn_lengths("uniform:3:90", 50, 100, 1), drawn_lengths("uniform:3:90", 50, 100, 2));
  for (const Index length : drawn_lengths("uniform:3:5", 200, 100, 1)) {
    EXPECT_GE(length, 3);
    EXPECT_LE(length, 5);
  }
  double sum = 0;
  for (const Index length : drawn_lengths("geometric:100", 20'000, 1 << 20, 3)) {
    sum += static_cast<double>(length);
  }
  EXPECT_NEAR(sum / 20'000, 100, 3);  // the mean of 20,000 has a deviation of 0.7
  for (const char* wrong :
       {"uniform:3", "uniform:5:3", "geometric:-1", "lognormal:nan:1", "poisson:3"}) {
    EXPECT_THROW((void)drawn_lengths(wrong, 1, 10, 0), UsageError) << wrong;
  }
}

TEST(Paging, ReadsLengths) {
  EXPECT_EQ(parsed_lengths("# comment\n3, 4\n5\t6\n", "l"), (std::vector<Index>{3, 4, 5, 6}));
  EXPECT_THROW((void)parsed_lengths("3 x", "l"), DataError);
  EXPECT_THROW((void)parsed_lengths("3 0", "l"), DataError);
  EXPECT_THROW((void)parsed_lengths("", "l"), DataError);
}

}  // namespace
}  // namespace attn
