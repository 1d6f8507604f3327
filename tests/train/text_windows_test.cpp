#include "train/text_windows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/error.h"
#include "ops/cross_entropy.h"

namespace attn {
namespace {

// A text whose tokens are their own places.
std::vector<Index> places(Index count) {
  std::vector<Index> tokens(static_cast<std::size_t>(count));
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

TextWindows::Settings settings(Index seq_len) {
  TextWindows::Settings made;
  made.seq_len = seq_len;
  return made;
}

TEST(TextWindows, TrainsBeforeTheHeldOutPartAndEvaluatesInIt) {
  const TextWindows data(places(1000), 1000, settings(8), "t");
  EXPECT_EQ(data.training_tokens(), 900);
  EXPECT_EQ(data.held_out_tokens(), 100);
  Index first = 1000;
  Index last = 0;
  for (Index step = 0; step < 50; ++step) {
    const Batch batch = data.training_batch(step, 16);
    for (std::size_t i = 0; i < batch.ids.size(); ++i) {
      ASSERT_EQ(batch.targets[i], batch.ids[i] + 1) << "each token is followed by the next";
      first = std::min(first, batch.ids[i]);
      last = std::max(last, batch.targets[i]);
    }
  }
  EXPECT_LT(first, 10) << "windows begin anywhere";
  EXPECT_GT(last, 890);
  EXPECT_LT(last, 900) << "no training token is held out";

  const Batch& held_out = data.evaluation_batch();
  EXPECT_EQ(held_out.batch, 12);  // (100 - 1) / 8
  EXPECT_EQ(held_out.ids.front(), 900);
  EXPECT_LT(held_out.targets.back(), 1000);
}

TEST(TextWindows, SpreadsAFewWindowsOverTheHeldOutPart) {
  TextWindows::Settings few = settings(8);
  few.most_windows = 3;
  const Batch batch = TextWindows(places(1000), 1000, few, "t").evaluation_batch();
  ASSERT_EQ(batch.batch, 3);
  EXPECT_EQ(batch.ids[0], 900);
  EXPECT_EQ(batch.ids[8], 932);
  EXPECT_EQ(batch.ids[16], 964);
}

TEST(TextWindows, BatchesDependOnSeedAndStepAlone) {
  const TextWindows data(places(1000), 1000, settings(8), "t");
  EXPECT_EQ(data.training_batch(5, 4).ids, data.training_batch(5, 4).ids);
  EXPECT_NE(data.training_batch(5, 4).ids, data.training_batch(6, 4).ids);
}

TEST(TextWindows, AnEncoderFillsInWhatIsHidden) {
  TextWindows::Settings hidden = settings(8);
  hidden.masking = Masking{0.5, 1000, 1000};
  const TextWindows data(places(1000), 1000, hidden, "t");
  EXPECT_EQ(data.vocab_size(), 1001) << "the mask is one more";
  const Batch batch = data.training_batch(0, 16);
  Index masked = 0;
  for (std::size_t i = 0; i < batch.ids.size(); ++i) {
    masked += batch.ids[i] == 1000 ? 1 : 0;
    if (batch.targets[i] == kIgnoreIndex) continue;
    ASSERT_LT(batch.targets[i], 900);
    if (i % 8 > 0 && batch.targets[i - 1] != kIgnoreIndex) {
      ASSERT_EQ(batch.targets[i], batch.targets[i - 1] + 1) << "what stood in its place";
    }
  }
  EXPECT_GT(masked, 0);
  EXPECT_EQ(TextWindows(places(1000), 1000, hidden, "t").evaluation_batch().ids,
            data.evaluation_batch().ids);
}

std::string refusal(Index tokens, Index seq_len) {
  try {
    const TextWindows data(places(tokens), tokens, settings(seq_len), "book.txt");
  } catch (const DataError& error) {
    return error.what();
  }
  return "(accepted)";
}

TEST(TextWindows, SaysHowShortATextIs) {
  EXPECT_EQ(refusal(64, 64), "book.txt: the text has 64 tokens, a window of 64 needs at least 65");
  EXPECT_EQ(refusal(300, 64),
            "book.txt: 30 of the text's 300 tokens are held out, a window of 64 needs at least 65");
  EXPECT_EQ(refusal(650, 64), "(accepted)");
}

// Training holds 0 three times of four; the held-out half alternates: (ln 4/3 + ln 4) / 2.
TEST(TextWindows, UnigramEntropyIsOfTheTrainingPartsFrequencies) {
  TextWindows::Settings half = settings(1);
  half.held_out = 0.5;
  const TextWindows data({0, 0, 0, 1, 0, 1, 0, 1}, 2, half, "t");
  EXPECT_NEAR(data.unigram_entropy(), (std::log(4.0 / 3) + std::log(4.0)) / 2, 1e-12);
}

}  // namespace
}  // namespace attn
