#include "sizing/hf_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/error.h"
#include "sizing/known_models.h"
#include "sizing/kv_bytes.h"

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
  EXPECT_THAT(refusal(with(R"(, "model_type": "qwen3_moe", "num_key_value_heads": 2)")),
              HasSubstr("head_dim"));
  EXPECT_THAT(refusal(with(R"(, "num_key_value_heads": 3)")),
              HasSubstr("3 kv heads do not divide 8 heads"));
}

// Mistral's class has 8 key-value heads and a window where the file says nothing, Qwen3's a head of
// 128; a null is something said.
TEST(HfConfig, SaysWhichValuesAreDefaultsOfTheClass) {
  const CacheSpec mistral = hf_cache_spec(with(R"(, "model_type": "mistral")"), "c.json");
  EXPECT_THAT(layer_summary(mistral), ElementsAre("4 layers of 8 kv heads x 8, last 4,096 tokens"));
  EXPECT_EQ(fact(mistral, "kv heads").from, "default of MistralConfig");
  EXPECT_EQ(fact(mistral, "window").from, "default of MistralConfig");
  const CacheSpec qwen = hf_cache_spec(
      with(R"(, "model_type": "qwen3", "num_key_value_heads": null, "sliding_window": 9)"),
      "c.json");
  EXPECT_THAT(layer_summary(qwen), ElementsAre("4 layers of 8 kv heads x 128"));
  EXPECT_EQ(fact(qwen, "head dim").from, "default of Qwen3Config");
  const CacheSpec unnamed = hf_cache_spec(with(""), "c.json");
  EXPECT_THAT(fact(unnamed, "the family").from, HasSubstr("a guess"));
}

TEST(HfConfig, AnAssumedFamilyIsReadAsSuch) {
  const std::string wonder = with(R"(, "model_type": "wonder", "num_key_value_heads": 2)");
  const CacheSpec spec = hf_cache_spec(wonder, "c.json", "llama");
  EXPECT_THAT(layer_summary(spec), ElementsAre("4 layers of 2 kv heads x 8"));
  EXPECT_EQ(fact(spec, "the family").from, "--assume llama");
  EXPECT_THROW((void)hf_cache_spec(wonder, "c.json", "lama"), UsageError);
}

TEST(HfConfig, NamesThatContradictEachOtherAreRefused) {
  EXPECT_THAT(refusal(with(R"(, "n_layer": 5)")), HasSubstr("which counts is not known"));
  EXPECT_EQ(refusal(with(R"(, "n_layer": 4)")), "accepted");
}

TEST(HfConfig, CountsBeyondAnyModelAreRefused) {
  EXPECT_THAT(refusal(R"({"num_hidden_layers": 2000000, "hidden_size": 64,
                         "num_attention_heads": 8})"),
              HasSubstr("more than any model"));
  EXPECT_THAT(refusal(R"({"model_type": "falcon_mamba", "hidden_size": 1000000000000,
                         "state_size": 1000000000000})"),
              HasSubstr("larger than those of any model"));
}

TEST(HfConfig, TheSchemeOfTheCacheCountsAndThatOfTheWeightsDoesNot) {
  const auto cache = [](const std::string& more) {
    return hf_cache_spec(with(", \"quantization_config\": " + more), "c.json").cache_type;
  };
  EXPECT_EQ(cache(R"({"quant_method": "fp8"})"), "");
  EXPECT_EQ(cache(R"({"kv_cache_scheme": {"num_bits": 8, "type": "float"}})"), "fp8");
  EXPECT_EQ(cache(R"({"kv_cache_scheme": null})"), "");
}

TEST(HfConfig, RefusesValuesOfAnotherKind) {
  for (const char* value : {"-1", "0", "2.5", "\"4\"", "[4]", "1e30", "18446744073709551615"}) {
    const std::string json = std::string(R"({"num_hidden_layers": )") + value +
                             R"(, "hidden_size": 64, "num_attention_heads": 8})";
    EXPECT_THAT(refusal(json), HasSubstr("'num_hidden_layers' must be")) << value;
  }
  EXPECT_THAT(refusal(with(R"(, "layer_types": "full_attention")")), HasSubstr("list of words"));
  EXPECT_THAT(refusal(with(R"(, "model_type": 5)")), HasSubstr("'model_type' must be a text"));
  EXPECT_THAT(refusal("[1, 2]"), HasSubstr("wanted a JSON object"));
  EXPECT_THAT(refusal("{\"num_hidden_layers\": 4"), HasSubstr("not JSON: it breaks at byte"));
  EXPECT_THAT(refusal(""), HasSubstr("not JSON"));
}

TEST(HfConfig, DeepNestingIsNoCrash) {
  EXPECT_THAT(refusal(std::string(200'000, '[')), HasSubstr("nested more than"));
  const std::string deep = std::string(900, '[') + std::string(900, ']');
  EXPECT_THAT(refusal(deep), HasSubstr("wanted a JSON object"));
  EXPECT_THAT(refusal(with(", \"x\": \"" + std::string(10'000'000, '[') + "\"")), "accepted");
}

TEST(KnownModels, AllResolve) {
  const auto presets = known_models();
  EXPECT_GE(presets.size(), 10U);
  for (const KnownModel& preset : presets) {
    EXPECT_GT(preset.spec.layer_count(), 0) << preset.name;
    EXPECT_FALSE(preset.source.empty()) << preset.name;
    EXPECT_EQ(known_model(preset.name).spec.layer_count(), preset.spec.layer_count());
  }
}

TEST(KnownModels, TheIllustrativeModelTakesTwoGiB) {
  const CacheSpec spec = known_model("Illustrative").spec;
  EXPECT_EQ(kv_bytes(spec, 4096, 1, cache_type("f16", "")).total, Index{2} << 30);
}

TEST(KnownModels, AMistypedNameIsAnsweredWithTheNearest) {
  try {
    (void)known_model("lama-3.1-8b");
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_EQ(error.hints().front(), "did you mean 'llama-3.1-8b'?");
  }
}

}  // namespace
}  // namespace attn
