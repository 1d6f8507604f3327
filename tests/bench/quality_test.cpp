#include "bench/quality.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/error.h"
#include "core/rng.h"
#include "model/decode_session.h"
#include "model/log_probability.h"
#include "model/scoring.h"

namespace attn {
namespace {

constexpr KvTypes kF16 = {KvType::kF16, KvType::kF16};
constexpr KvTypes kQ8 = {KvType::kQ8_0, KvType::kQ8_0};
constexpr KvTypes kQ84 = {KvType::kQ8_0, KvType::kQ4_0};
constexpr KvTypes kQ4 = {KvType::kQ4_0, KvType::kQ4_0};

// Weights large enough for opinions: as initialised, all tokens would be equally likely.
Transformer<float> model_of(Index head_dim, Index depth = 2) {
  ModelConfig config;
  config.vocab_size = 17;
  config.dim = 32;
  config.heads = 2;
  config.kv_heads = 1;
  config.head_dim = head_dim;
  config.depth = depth;
  config.position = Position::kRope;
  return Transformer<float>(config);
}

void initialise(Transformer<float>& model) {
  model.params().initialise(5);
  for (Index i = 0; i < model.params().size(); ++i) model.params().values()[i] *= 3;
}

std::vector<Index> text_of(Index count) {
  Rng rng(1, RandomPurpose::kExample);
  std::vector<Index> ids(static_cast<std::size_t>(count));
  for (Index& id : ids) id = rng.below(17);
  return ids;
}

TEST(Quality, F32IsTheScore) {
  Transformer<float> model = model_of(32);
  initialise(model);
  const std::vector<Index> ids = text_of(90);
  const Quality quality = measure_quality(model, ids, 20, {}, 1, {});
  const Score score = score_tokens<float>(model, ids, 20, 1);
  EXPECT_EQ(quality.targets, 80);
  EXPECT_EQ(quality.windows, 4);
  ASSERT_EQ(quality.rows.size(), 1U);
  // The same sums in float, cut into other passes.
  EXPECT_NEAR(quality.rows[0].loss, score.loss(), 1e-6 * score.loss());
  EXPECT_EQ(quality.rows[0].mean_divergence, 0);
  EXPECT_EQ(quality.rows[0].same_top, 1);
  EXPECT_FALSE(quality.rows[0].worst_layer());
}

// Token by token, with the formula as it is written.
TEST(Quality, IsWhatDecodingGives) {
  Transformer<float> model = model_of(32);
  initialise(model);
  const std::vector<Index> ids = text_of(31);
  const Quality quality = measure_quality(model, ids, 30, {kQ84}, 1, {});
  SessionSettings settings;
  settings.capacity = 30;
  DecodeSession<float> native(model, settings);
  settings.layout.k_type = kQ84.keys;
  settings.layout.v_type = kQ84.values;
  DecodeSession<float> stored(model, settings);
  double loss = 0;
  double same = 0;
  std::vector<double> divergences;
  for (std::size_t i = 0; i < 30; ++i) {
    const std::span<const Index> next = std::span(ids).subspan(i, 1);
    const std::span<const float> wanted_logits = native.feed(next);
    const std::span<const float> found_logits = stored.feed(next);
    const std::vector<double> wanted = log_probabilities<float>(wanted_logits);
    const std::vector<double> found = log_probabilities<float>(found_logits);
    double divergence = 0;
    for (std::size_t token = 0; token < wanted.size(); ++token)
      divergence += std::exp(wanted[token]) * (wanted[token] - found[token]);
    divergences.push_back(divergence);
    loss -= found[static_cast<std::size_t>(ids[i + 1])];
    if (largest_logit<float>(wanted_logits) == largest_logit<float>(found_logits)) ++same;
  }
  double sum = 0;
  for (const double one : divergences) sum += one;
  const QualityRow& row = quality.rows[1];
  EXPECT_GT(row.mean_divergence, 1e-5);
  // A key that differs in its last bit may be stored as the next of 16 numbers: a part of one of
  // 30 rows, which moves the mean by less than this.
  EXPECT_NEAR(row.mean_divergence, sum / 30, 0.02 * row.mean_divergence);
  EXPECT_NEAR(row.loss, loss / 30, 1e-3 * row.loss);
  EXPECT_EQ(row.same_top, same / 30);
  const double largest = *std::max_element(divergences.begin(), divergences.end());
  EXPECT_NEAR(row.largest_divergence, largest, 0.05 * largest);
  EXPECT_LT(row.high_divergence, row.largest_divergence);
  EXPECT_GT(row.high_divergence, row.mean_divergence);
}

TEST(Quality, FewerBitsTakeFewerBytesAndDivergeMore) {
  Transformer<float> model = model_of(32);
  initialise(model);
  const Quality quality = measure_quality(model, text_of(60), 59, {kF16, kQ8, kQ84, kQ4}, 2, {});
  ASSERT_EQ(quality.rows.size(), 5U);
  // 2 layers of one head of 32, keys and values: blocks of 32 take 34 and 18 bytes.
  const Index bytes[] = {4 * 32 * 4, 4 * 32 * 2, 4 * 34, 2 * (34 + 18), 4 * 18};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(quality.rows[i].bytes_per_token, bytes[i]) << i;
    if (i == 0) continue;
    EXPECT_GT(quality.rows[i].mean_divergence, quality.rows[i - 1].mean_divergence) << i;
  }
  EXPECT_EQ(both_types_name(quality.rows[3].types), "q8_0/q4_0");
}

TEST(Quality, NamesTheLayerThatSuffers) {
  Transformer<float> model = model_of(32, 3);
  initialise(model);
  // Of the first layer's attention nothing comes out: how it is stored cannot matter.
  for (const ParamInfo& info : model.params().list()) {
    if (info.name == "blocks.0.attn.out_proj.weight") {
      std::fill_n(model.params().values() + info.place.offset, 32 * 64, 0.0F);
    }
  }
  const Quality quality = measure_quality(model, text_of(40), 39, {kQ4}, 1, {});
  const QualityRow& row = quality.rows[1];
  ASSERT_EQ(row.layer_divergence.size(), 3U);
  EXPECT_EQ(row.layer_divergence[0], 0);
  EXPECT_GT(row.layer_divergence[1], 0);
  const bool second = row.layer_divergence[1] >= row.layer_divergence[2];
  EXPECT_EQ(row.worst_layer(), second ? 1 : 2);
}

TEST(Quality, ThreadsAndPiecesOfAWindowChangeNothing) {
  Transformer<float> model = model_of(32);
  initialise(model);
  const std::vector<Index> ids = text_of(601);
  const Quality one = measure_quality(model, ids, 600, {kQ8, kQ4}, 1, {});
  Index calls = 0;
  const Quality three = measure_quality(model, ids, 600, {kQ8, kQ4}, 3, [&](Index, Index all) {
    EXPECT_EQ(all, 1);
    ++calls;
  });
  EXPECT_EQ(calls, 1);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(one.rows[i].loss, three.rows[i].loss);
    EXPECT_EQ(one.rows[i].mean_divergence, three.rows[i].mean_divergence);
    EXPECT_EQ(one.rows[i].layer_divergence, three.rows[i].layer_divergence);
  }
  // 600 rows are read in three pieces, the later ones from the cache.
  const Score score = score_tokens<float>(model, ids, 600, 1);
  EXPECT_NEAR(one.rows[0].loss, score.loss(), 1e-6 * score.loss());
}

TEST(Quality, BlocksMustDivideAHead) {
  Transformer<float> model = model_of(24);
  initialise(model);
  EXPECT_NO_THROW(measure_quality(model, text_of(9), 8, {kF16}, 1, {}));
  EXPECT_THROW(measure_quality(model, text_of(9), 8, {kQ8}, 1, {}), UsageError);
  EXPECT_THROW(measure_quality(model, text_of(1), 8, {kF16}, 1, {}), UsageError);
}

}  // namespace
}  // namespace attn
