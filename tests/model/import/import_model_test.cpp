#include "model/import/import_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/import/move_tensor.h"
#include "model/import/stored_model.h"

namespace attn {
namespace {

using testing::a_gpt2;
using testing::a_llama;
using ::testing::ElementsAre;
using testing::gpt2_json;
using ::testing::HasSubstr;
using testing::read;
using testing::Stored;

TEST(MoveTensor, CAttnIsThreeMatricesSideBySideTransposed) {
  const HfFamily& family = *find_hf_family("gpt2");
  ModelConfig config = read(gpt2_json()).model;
  config.dim = 2;
  config.heads = 1;
  config.kv_heads = 1;
  config.head_dim = 2;
  config.tie_embeddings = true;
  const std::vector<HfMapping> mappings = hf_mappings(family, config);
  const auto fused = std::find_if(mappings.begin(), mappings.end(), [](const HfMapping& one) {
    return one.name == "h.0.attn.c_attn.weight";
  });
  ASSERT_NE(fused, mappings.end());
  EXPECT_EQ(fused->shape, (Shape{2, 6}));
  //                            q       k       v
  std::vector<float> theirs = {1, 2, 3, 4,  5,  6,    // input 0
                               7, 8, 9, 10, 11, 12};  // input 1
  Transformer<float> model(config);
  move_tensor(*fused, theirs.data(), model.params().values(), MoveTo::kOurs);
  const auto held = [&](const char* name) {
    const ParamInfo* info = model.params().find(name);
    const float* first = model.params().values() + info->place.offset;
    return std::vector<float>(first, first + info->place.size());
  };
  EXPECT_THAT(held("blocks.0.attn.q_proj.weight"), ElementsAre(1, 7, 2, 8));
  EXPECT_THAT(held("blocks.0.attn.k_proj.weight"), ElementsAre(3, 9, 4, 10));
  EXPECT_THAT(held("blocks.0.attn.v_proj.weight"), ElementsAre(5, 11, 6, 12));
  std::vector<float> back(theirs.size());
  move_tensor(*fused, back.data(), model.params().values(), MoveTo::kTheirs);
  EXPECT_EQ(back, theirs);
}

TEST(HfFamily, BuffersAreKnownByTheirPattern) {
  const HfFamily& gpt2 = *find_hf_family("gpt2");
  EXPECT_TRUE(is_hf_buffer(gpt2, "h.0.attn.bias"));
  EXPECT_TRUE(is_hf_buffer(gpt2, "h.117.attn.masked_bias"));
  for (const char* name : {"h..attn.bias", "h.x.attn.bias", "h.0.attn.bias2", "xh.0.attn.bias",
                           "h.0.attn.c_attn.bias", "h.0.0.attn.bias"}) {
    EXPECT_FALSE(is_hf_buffer(gpt2, name)) << name;
  }
  EXPECT_TRUE(
      is_hf_buffer(*find_hf_family("llama"), "model.layers.3.self_attn.rotary_emb.inv_freq"));
}

TEST(ImportModel, AHeadIsTiedWhereItIsMissingOrEqual) {
  Stored gpt2 = a_gpt2();
  EXPECT_EQ(gpt2.tensors.count("lm_head.weight"), 0U) << "a tied model has one table";
  EXPECT_TRUE(gpt2.model()->config().tie_embeddings);
  gpt2.tensors["lm_head.weight"] = gpt2.tensors.at("transformer.wte.weight");
  EXPECT_TRUE(gpt2.model()->config().tie_embeddings);
  gpt2.tensors["lm_head.weight"].second[3] += 0.5F;
  EXPECT_FALSE(gpt2.model()->config().tie_embeddings);
  const SafetensorsFolder files = gpt2.files();
  EXPECT_THAT(plan_import(read(gpt2.config), files).notes,
              ElementsAre(HasSubstr("lm_head.weight differs from wte.weight")));

  Stored llama = a_llama();
  EXPECT_FALSE(llama.model()->config().tie_embeddings);
  llama.tensors.erase("lm_head.weight");
  EXPECT_THAT(llama.refusal(),
              HasSubstr("missing: 'lm_head.weight' (tie_word_embeddings does not"));
  llama.config["tie_word_embeddings"] = true;
  EXPECT_TRUE(llama.model()->config().tie_embeddings);
}

TEST(ImportModel, NamesNotUnderstoodAndMissingAreAllNamed) {
  Stored stored = a_gpt2();
  const auto any = stored.tensors.at("transformer.ln_f.bias");
  stored.tensors["transformer.h.0.attn.q_norm.weight"] = any;
  stored.tensors["score.weight"] = any;
  stored.tensors.erase("transformer.h.0.ln_2.bias");
  EXPECT_EQ(stored.refusal(),
            "w.safetensors: tensors not understood: 'score.weight', "
            "'transformer.h.0.attn.q_norm.weight'; missing: 'h.0.ln_2.bias'");
  for (int i = 0; i < 40; ++i) stored.tensors["x" + std::to_string(i)] = any;
  EXPECT_THAT(stored.refusal(), HasSubstr("'x8', 'x9'; missing"));
  for (int i = 0; i < 2000; ++i) stored.tensors["y" + std::to_string(i)] = any;
  const std::string many = stored.refusal();
  EXPECT_THAT(many, HasSubstr(" more; missing"));
  EXPECT_LT(many.size(), 4096U);
}

TEST(ImportModel, BlocksBeyondTheFilesAreNotListed) {
  Stored stored = a_gpt2();
  stored.config["n_layer"] = 1 << 24;
  EXPECT_THAT(stored.refusal(), HasSubstr("missing: 'h.1.ln_1.weight'"));
  EXPECT_THAT(stored.refusal(), HasSubstr("201,326,568 more"));
}

TEST(ImportModel, BuffersArePassedOverWhateverTheyHold) {
  Stored stored = a_gpt2();
  stored.tensors["transformer.h.0.attn.bias"] = {{1, 1, 2, 2}, {1, 0, 1, 1}};
  stored.tensors["h.0.attn.masked_bias"] = {{}, {-1e4F}};
  const SafetensorsFolder files = stored.files();
  EXPECT_THAT(plan_import(read(stored.config), files).passed_over,
              ElementsAre("h.0.attn.masked_bias", "transformer.h.0.attn.bias"));
}

TEST(ImportModel, ATensorHasItsShapeAndStandsThereOnce) {
  Stored stored = a_gpt2();
  auto& fc = stored.tensors.at("transformer.h.0.mlp.c_fc.weight");
  std::swap(fc.first[0], fc.first[1]);
  EXPECT_EQ(stored.refusal(),
            "w.safetensors: 'transformer.h.0.mlp.c_fc.weight': shape (32, 8), the configuration "
            "wants (8, 32), which is its transpose");
  stored = a_gpt2();
  stored.tensors["wte.weight"] = stored.tensors.at("transformer.wte.weight");
  EXPECT_THAT(stored.refusal(), HasSubstr("'wte.weight' stands there twice"));
}

}  // namespace
}  // namespace attn
