#include "model/filling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/configurations.h"
#include "model/log_probability.h"

namespace attn {
namespace {

constexpr Index kMask = 9;

ModelConfig small(Position position = Position::kSinusoidal) {
  ModelConfig config;
  config.arch = Arch::kEncoder;
  config.dim = 16;
  config.mlp_hidden = 16;
  config.position = position;
  config.max_positions = position == Position::kLearned ? 5 : 0;
  return config.completed();
}

Transformer<float>& scrambled(Transformer<float>& model) {
  testing::scramble(model.params(), 11);
  return model;
}

Matrix<float> logits_of(const Transformer<float>& model, const std::vector<Index>& ids,
                        Workspace& work) {
  TokenInput input;
  input.ids = ids;
  input.rows.seq_len = static_cast<Index>(ids.size());
  return model.forward(model.pass(work), input, nullptr, nullptr);
}

TEST(FillMasks, TakesTheLargestLogitAtEachMaskAndLeavesTheRest) {
  Transformer<float> model(small());
  scrambled(model);
  const std::vector<Index> ids = {3, kMask, 5, 2, kMask};
  const Filling filled = fill_masks<float>(model, ids, {kMask, {}, 1, 0});
  EXPECT_EQ(filled.places, (std::vector<Index>{1, 4}));
  ASSERT_EQ(filled.ids.size(), 5U);
  ASSERT_EQ(filled.log_probs.size(), 2U);
  Workspace work;
  const Matrix<float> logits = logits_of(model, ids, work);
  for (std::size_t i = 0; i < 5; ++i) {
    if (ids[i] != kMask) {
      EXPECT_EQ(filled.ids[i], ids[i]);
      continue;
    }
    const float* row = logits.row(static_cast<Index>(i));
    EXPECT_EQ(filled.ids[i], std::max_element(row, row + kMask) - row) << "the mask is the last id";
  }
  EXPECT_EQ(filled.log_probs[0],
            log_probability<float>({logits.row(1), static_cast<std::size_t>(logits.cols())},
                                   filled.ids[1]));
}

// A head whose bias shouts "mask": an untrained model may, and the answer must not be one.
TEST(FillMasks, NeverAnswersWithTheMask) {
  Transformer<float> model(small());
  scrambled(model);
  for (const ParamInfo& info : model.params().list()) {
    if (info.name == "head.bias") model.params().values()[info.place.offset + kMask] = 1e6F;
  }
  const std::vector<Index> ids = {kMask, kMask, kMask};
  FillSettings settings{kMask, {}, 1, 0};
  for (const double temperature : {0.0, 1.0, 100.0}) {
    settings.sampling.temperature = temperature;
    EXPECT_THAT(fill_masks<float>(model, ids, settings).ids, ::testing::Each(::testing::Ne(kMask)));
  }
}

TEST(FillMasks, DrawsBySeedAndSample) {
  Transformer<float> model(small());
  scrambled(model);
  const std::vector<Index> ids(20, kMask);
  FillSettings settings{kMask, {}, 1, 0};
  settings.sampling.temperature = 5;
  settings.sampling.seed = 1;
  const auto first = fill_masks<float>(model, ids, settings).ids;
  EXPECT_EQ(fill_masks<float>(model, ids, settings).ids, first);
  settings.threads = 3;
  EXPECT_EQ(fill_masks<float>(model, ids, settings).ids, first);
  settings.sampling.seed = 2;
  EXPECT_NE(fill_masks<float>(model, ids, settings).ids, first);
  settings.sampling.seed = 1;
  settings.sampling.prompt = 1;
  EXPECT_NE(fill_masks<float>(model, ids, settings).ids, first);
}

TEST(FillMasks, WithoutMasksTheTextStays) {
  Transformer<float> model(small());
  scrambled(model);
  const std::vector<Index> ids = {1, 2};
  const Filling filled = fill_masks<float>(model, ids, {kMask, {}, 1, 0});
  EXPECT_EQ(filled.ids, ids);
  EXPECT_TRUE(filled.places.empty());
}

TEST(FillMasks, RefusesWhatItCannotRead) {
  Transformer<float> model(small(Position::kLearned));
  scrambled(model);
  const auto fill = [&](std::vector<Index> ids) {
    fill_masks<float>(model, ids, {kMask, {}, 1, 0});
  };
  EXPECT_NO_THROW(fill({1, 2, 3, 4, 5}));
  EXPECT_THROW(fill({}), UsageError);
  EXPECT_THROW(fill({1, 10}), UsageError);
  try {
    fill({1, 2, 3, 4, 5, 6});
    FAIL() << "6 positions of 5";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("the table has 5 rows"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("the prompt has 6 tokens"));
  }
  const std::vector<Index> ids = {1};
  EXPECT_THROW(fill_masks<float>(model, ids, {10, {}, 1}), ShapeError);
  const Transformer<float> decoder(ModelConfig{});
  EXPECT_THROW(fill_masks<float>(decoder, ids, {1, {}, 1}), ShapeError);
}

}  // namespace
}  // namespace attn
