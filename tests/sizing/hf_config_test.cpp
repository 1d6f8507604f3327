#include "sizing/hf_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/error.h"
#include "sizing/kv_bytes.h"
#include "sizing/model_presets.h"

namespace attn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The message with which a configuration is refused.
std::string refusal(const std::string& json) {
  try {
    (void)hf_cache_spec(json, "c.json");
  } catch (const DataError& error) {
    return error.what();
  }
  return "accepted";
}

std::string with(const std::string& more) {
  return R"({"num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 8)" + more + "}";
}

const SpecFact& fact(const CacheSpec& spec, const std::string& what) {
  for (const SpecFact& one : spec.facts) {
    if (one.what == what) return one;
  }
  throw std::logic_error("no fact " + what);
}

TEST(HfConfig, SaysWhereEachNumberComesFrom) {
  const CacheSpec spec = hf_cache_spec(with(R"(, "model_type": "llama")"), "c.json");
  EXPECT_THAT(layer_summary(spec), ElementsAre("4 layers of 8 kv heads x 8"));
  EXPECT_EQ(fact(spec, "layers").from, "num_hidden_layers");
  EXPECT_THAT(fact(spec, "kv heads").from, HasSubstr("no 'num_key_value_heads'"));
  EXPECT_EQ(fact(spec, "head dim").from, "width / heads = 64 / 8");
}

TEST(HfConfig, AStatedHeadDimWinsOverTheWidth) {
  const CacheSpec spec =
      hf_cache_spec(with(R"(, "num_key_value_heads": 2, "head_dim": 32)"), "c.json");
  EXPECT_THAT(layer_summary(spec), ElementsAre("4 layers of 2 kv heads x 32"));
}

TEST(HfConfig, NullIsTheSameAsMissing) {
  EXPECT_EQ(refusal(with(R"(, "num_key_value_heads": null, "sliding_window": null)")), "accepted");
}

TEST(HfConfig, LayersThatSlideAreCountedApart) {
  const CacheSpec spec =
      hf_cache_spec(with(R"(, "model_type": "gpt_oss", "num_key_value_heads": 2, "head_dim": 16,
              "sliding_window": 128, "layer_types": ["sliding_attention", "full_attention",
              "sliding_attention", "full_attention"])"),
                    "c.json");
  EXPECT_THAT(layer_summary(spec), ElementsAre("2 layers of 2 kv heads x 16, last 128 tokens",
                                               "2 layers of 2 kv heads x 16"));
}

TEST(HfConfig, RefusesByNameWhatChangesTheCache) {
  EXPECT_THAT(refusal(with(R"(, "model_type": "wonder")")),
              HasSubstr("c.json: model_type 'wonder' is not known"));
  EXPECT_THAT(refusal(with(R"(, "sliding_window": 512)")), HasSubstr("'sliding_window'"));
  EXPECT_THAT(refusal(with(R"(, "kv_lora_rank": 512)")), HasSubstr("'kv_lora_rank'"));
  EXPECT_THAT(refusal(with(R"(, "is_encoder_decoder": true)")), HasSubstr("'is_encoder_decoder'"));
  EXPECT_EQ(refusal(with(R"(, "is_encoder_decoder": false)")), "accepted");
  EXPECT_THAT(refusal(with(R"(, "model_type": "llama", "num_kv_shared_layers": 2)")),
              HasSubstr("'num_kv_shared_layers'"));
  EXPECT_THAT(refusal(with(R"(, "layer_types": ["full_attention", "conv", "conv", "conv"])")),
              HasSubstr("'conv'"));
  EXPECT_THAT(refusal(with(R"(, "layer_types": ["full_attention"])")),
              HasSubstr("1 entries for 4 layers"));
}

// Of kinds whose layers do not all keep every token, met without a model_type that says so.
TEST(HfConfig, RefusesMixedLayersOfAnUnnamedModel) {
  for (const std::string key : {"attention_window_size", "full_attn_idxs",
                                "global_attn_every_n_layers", "lru_width", "use_mla"}) {
    EXPECT_THAT(refusal(with(", \"" + key + "\": 3")), HasSubstr("'" + key + "'")) << key;
    EXPECT_EQ(refusal(with(", \"" + key + "\": null")), "accepted") << key;
  }
  EXPECT_THAT(refusal(with(R"(, "block_types": ["recurrent", "attention"])")),
              HasSubstr("'block_types'"));
}

TEST(HfConfig, RefusesWhatItWouldHaveToGuess) {
  EXPECT_THAT(refusal(R"({"hidden_size": 64, "num_attention_heads": 8})"), HasSubstr("layers"));
  EXPECT_THAT(refusal(R"({"num_hidden_layers": 4, "hidden_size": 64})"), HasSubstr("heads"));
  EXPECT_THAT(refusal(R"({"num_hidden_layers": 4, "num_attention_heads": 8})"), HasSubstr("width"));
  EXPECT_THAT(refusal(R"({"num_hidden_layers": 4, "hidden_size": 65, "num_attention_heads": 8})"),
              HasSubstr("8 heads do not divide the width 65"));
  // Mistral's class has 8 key-value heads where the file says nothing, Qwen3's head has 128.
  EXPECT_THAT(refusal(with(R"(, "model_type": "mistral")")), HasSubstr("kv heads"));
  EXPECT_THAT(refusal(with(R"(, "model_type": "qwen3", "num_key_value_heads": 2)")),
              HasSubstr("head_dim"));
  EXPECT_THAT(refusal(with(R"(, "num_key_value_heads": 3)")),
              HasSubstr("3 kv heads do not divide 8 heads"));
}

TEST(HfConfig, RefusesValuesOfAnotherKind) {
  for (const char* value : {"-1", "0", "2.5", "\"4\"", "[4]", "1e30", "18446744073709551615"}) {
    const std::string json = std::string(R"({"num_hidden_layers": )") + value +
                             R"(, "hidden_size": 64, "num_attention_heads": 8})";
    EXPECT_THAT(refusal(json), HasSubstr("'num_hidden_layers' must be")) << value;
  }
  EXPECT_THAT(refusal(with(R"(, "layer_types": "full_attention")")), HasSubstr("list of words"));
  EXPECT_THAT(refusal("[1, 2]"), HasSubstr("wanted a JSON object"));
  EXPECT_THAT(refusal("{\"num_hidden_layers\": 4"), HasSubstr("not JSON: it breaks at byte"));
  EXPECT_THAT(refusal(""), HasSubstr("not JSON"));
}

TEST(HfConfig, DeepNestingIsNoCrash) {
  EXPECT_THAT(refusal(std::string(200'000, '[')), HasSubstr("not JSON"));
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_THAT(refusal(deep), HasSubstr("wanted a JSON object"));
}

TEST(ModelPresets, AllResolve) {
  const auto presets = model_presets();
  EXPECT_GE(presets.size(), 10U);
  for (const ModelPreset& preset : presets) {
    EXPECT_GT(preset.spec.layer_count(), 0) << preset.name;
    EXPECT_FALSE(preset.source.empty()) << preset.name;
    EXPECT_EQ(model_preset(preset.name).spec.layer_count(), preset.spec.layer_count());
  }
}

TEST(ModelPresets, TheIllustrativeModelTakesTwoGiB) {
  const CacheSpec spec = model_preset("Illustrative").spec;
  EXPECT_EQ(kv_bytes(spec, 4096, 1, cache_type("f16", "")).total, Index{2} << 30);
}

TEST(ModelPresets, AMistypedNameIsAnsweredWithTheNearest) {
  try {
    (void)model_preset("lama-3.1-8b");
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_EQ(error.hints().front(), "did you mean 'llama-3.1-8b'?");
  }
}

}  // namespace
}  // namespace attn
