#include "model/import/export_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "model/import/stored_model.h"

namespace attn {
namespace {

using nlohmann::json;
using testing::gpt2_json;
using ::testing::HasSubstr;
using testing::llama_json;
using testing::read;
using testing::Stored;

bool can_be_exported(const ModelConfig& config) {
  try {
    hf_family_of(config);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

TEST(ExportModel, EveryModelThatFitsComesBack) {
  int held = 0;
  std::vector<testing::Configuration> all = testing::configurations();
  for (const bool tied : {true, false}) {  // what the table has not: both families, plain
    for (const json& object : {gpt2_json(), llama_json()}) {
      ModelConfig config = read(object).model;
      config.tie_embeddings = tied;
      all.push_back({object.at("model_type").get<std::string>() + (tied ? "-tied" : ""), config});
    }
  }
  for (const auto& configuration : all) {
    ModelConfig config = configuration.model;
    config.head_bias = false;
    if (config.norm_type == NormType::kRmsNorm) config.norm_bias = true;  // says nothing there
    if (!can_be_exported(config)) config.out_bias = config.mlp_bias = config.bias;
    if (!can_be_exported(config) || config.rope_style == RopePairs::kInterleaved) continue;
    SCOPED_TRACE(configuration.name);
    if (config.position == Position::kLearned) config.seq_len = config.max_positions;
    if (config.position == Position::kRope) {
      config.seq_len = 16;
      config.max_positions = 0;
    }
    Transformer<float> model(config);
    testing::scramble(model.params(), 5);
    const auto back = Stored(model).model();
    EXPECT_EQ(back->config(), model.config());
    EXPECT_TRUE(std::equal(model.params().values(), model.params().values() + model.params().size(),
                           back->params().values()));
    ++held;
  }
  EXPECT_GE(held, 10) << "four plain ones, and rope of each scaling with a name there";
}

TEST(ExportModel, PairsOfNeighboursBecomePairsOfHalves) {
  ModelConfig config = read(llama_json()).model;
  config.head_dim = 6;
  config.rope_style = RopePairs::kInterleaved;
  Transformer<float> model(config);
  testing::scramble(model.params(), 6);
  const auto back = Stored(model).model();
  EXPECT_EQ(back->config().rope_style, RopePairs::kHalves);
  const std::vector<Index> ids = testing::some_ids(12, config.vocab_size, 7);
  const auto logits = [&](const Transformer<float>& one) {
    Workspace work;
    TokenInput input;
    input.ids = ids;
    input.rows.seq_len = static_cast<Index>(ids.size());
    const Matrix<float> rows = one.forward(one.pass(work), input, nullptr, nullptr);
    return std::vector<float>(rows.data(), rows.data() + rows.size());
  };
  const std::vector<float> wanted = logits(model);
  const std::vector<float> found = logits(*back);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    // The terms of each score are added in another order.
    ASSERT_NEAR(found[i], wanted[i], 2e-5);
  }
}

TEST(ExportModel, WhatHasNoPlaceThereIsNamed) {
  const auto refused = [](const std::function<void(ModelConfig&)>& change) -> std::string {
    ModelConfig config = read(llama_json()).model;
    change(config);
    try {
      hf_family_of(config);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "(accepted)";
  };
  EXPECT_EQ(refused([](ModelConfig&) {}), "(accepted)");
  EXPECT_THAT(refused([](ModelConfig& c) { c.position = Position::kAlibi; }),
              HasSubstr("position alibi, where GPT-2's is learned and Llama's rope"));
  EXPECT_THAT(refused([](ModelConfig& c) { c.head_bias = true; }), HasSubstr("head_bias"));
  EXPECT_THAT(refused([](ModelConfig& c) { c.activation = MlpActivation::kRelu; }),
              HasSubstr("activation relu"));
  EXPECT_THAT(refused([](ModelConfig& c) { c.arch = Arch::kEncoder; }), HasSubstr("arch encoder"));
  EXPECT_THAT(refused([](ModelConfig& c) { c.rope_scaling.kind = RopeScalingKind::kNtk; }),
              HasSubstr("ntk"));
  EXPECT_THAT(refused([](ModelConfig& c) {
                c.position = Position::kLearned;
                c.norm_type = NormType::kLayerNorm;
                c.norm_bias = false;
              }),
              HasSubstr("has no place in GPT2LMHeadModel"));
}

}  // namespace
}  // namespace attn
