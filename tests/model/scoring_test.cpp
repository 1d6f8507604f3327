#include "model/scoring.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/error.h"
#include "model/configurations.h"

namespace attn {
namespace {

ModelConfig small(Position position) {
  ModelConfig config;
  config.dim = 16;
  config.mlp_hidden = 16;
  config.position = position;
  config.max_positions = position == Position::kLearned ? 6 : 0;
  return config.completed();
}

// -ln p of ids[last] after those before it, from a pass over them alone.
double surprise(const Transformer<double>& model, std::span<const Index> ids) {
  Workspace work;
  TokenInput input;
  input.ids = ids.first(ids.size() - 1);
  input.rows.seq_len = static_cast<Index>(ids.size()) - 1;
  const Matrix<double> logits =
      model.forward(model.pass(work), input, nullptr, nullptr, LogitRows::kLast);
  double total = 0;
  for (Index j = 0; j < logits.cols(); ++j) total += std::exp(logits(0, j));
  return std::log(total) - logits(0, ids.back());
}

TEST(ScoreTokens, IsTheMeanSurpriseOverWindowsThatDoNotOverlap) {
  Transformer<double> model(small(Position::kLearned));
  testing::scramble(model.params(), 3);
  const std::vector<Index> ids = testing::some_ids(23, 10, 4);
  constexpr Index kWindow = 5;
  double expected = 0;
  for (Index window = 0; window < 4; ++window) {  // 20 targets of 22, the last two left over
    const std::span<const Index> read =
        std::span(ids).subspan(static_cast<std::size_t>(window * kWindow), kWindow + 1);
    for (std::size_t n = 2; n <= read.size(); ++n) expected += surprise(model, read.first(n));
  }
  const Score score = score_tokens<double>(model, ids, kWindow, 1);
  EXPECT_EQ(score.windows, 4);
  EXPECT_EQ(score.targets, 20);
  EXPECT_NEAR(score.loss_sum, expected, 1e-12 * expected);  // double's rounding
  EXPECT_EQ(score.loss(), score.loss_sum / 20);
  EXPECT_EQ(score.perplexity(), std::exp(score.loss()));
  EXPECT_NEAR(score.bits_per(10), score.loss_sum / 10 / std::log(2.0), 1e-12);
}

TEST(ScoreTokens, IsTheSameForAnyNumberOfThreads) {
  Transformer<float> model(small(Position::kRope));
  testing::scramble(model.params(), 3);
  const std::vector<Index> ids = testing::some_ids(3000, 10, 4);  // some passes
  const double one = score_tokens<float>(model, ids, 16, 1).loss_sum;
  EXPECT_EQ(score_tokens<float>(model, ids, 16, 3).loss_sum, one);
}

TEST(ScoreTokens, FewerTokensThanAWindowMakeOneShorter) {
  Transformer<float> model(small(Position::kLearned));
  testing::scramble(model.params(), 3);
  const std::vector<Index> ids = {3, 5, 7};
  const Score score = score_tokens<float>(model, ids, 100, 1);
  EXPECT_EQ(score.window, 2);
  EXPECT_EQ(score.windows, 1);
  EXPECT_EQ(score.targets, 2);
}

TEST(ScoreTokens, RefusesWhatCannotBeScored) {
  Transformer<float> model(small(Position::kLearned));
  testing::scramble(model.params(), 3);
  const std::vector<Index> ids = testing::some_ids(20, 10, 4);
  EXPECT_THROW(score_tokens<float>(model, std::span(ids).first(1), 4, 1), UsageError);
  EXPECT_THROW(score_tokens<float>(model, {}, 4, 1), UsageError);
  EXPECT_THROW(score_tokens<float>(model, ids, 0, 1), UsageError);
  EXPECT_THROW(score_tokens<float>(model, ids, 7, 1), UsageError) << "the table has 6 rows";
  EXPECT_THROW(score_tokens<float>(model, std::vector<Index>{3, 10}, 1, 1), UsageError);
  model.params().values()[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(score_tokens<float>(model, std::vector<Index>{0, 1}, 1, 1), DataError);
}

TEST(UsualWindow, IsWhatItWasTrainedOnElseItsPositions) {
  ModelConfig config = small(Position::kLearned);
  EXPECT_EQ(usual_window(config), 6);
  config.seq_len = 4;
  EXPECT_EQ(usual_window(config), 4);
  EXPECT_EQ(usual_window(small(Position::kAlibi)), 512);
  ModelConfig stretched = small(Position::kRope);
  stretched.seq_len = 131072;
  stretched.rope_scaling.kind = RopeScalingKind::kDynamic;
  stretched.rope_scaling.original_max_positions = 4096;
  EXPECT_EQ(usual_window(stretched), 4096);
}

}  // namespace
}  // namespace attn
