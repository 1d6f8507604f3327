// Parameter counts held to the published ones: number_of_elements of the safetensors on
// huggingface.co, or the sum over the paper's shapes.

#include "sizing/weights.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "sizing/known_models.h"

namespace attn {
namespace {

TEST(Weights, AreThePublishedCounts) {
  const std::pair<const char*, Index> published[] = {
      {"llama-2-7b", 6'738'415'616},
      {"llama-3.1-8b", 8'030'261'248},
      {"tinyllama-1.1b", 1'100'048'384},
      {"mistral-7b-v0.1", 7'241'732'096},
      {"mixtral-8x7b", 46'702'792'704},
      {"qwen3-32b", 32'762'123'264},
      {"gemma-2-9b", 9'241'705'984},
      {"gemma-3-1b", 999'885'952},
      {"phi-3-mini-4k", 3'821'079'552},
      {"starcoder2-7b", 7'173'923'840},
      {"gpt2", 124'439'808},
      {"falcon-7b", 6'921'720'704},
      {"gpt-oss-20b", 20'914'757'184},
      {"deepseek-v2-lite", 15'706'484'224},
      {"deepseek-v3", 671'026'419'200},
  };
  for (const auto& [name, count] : published) {
    const CacheSpec spec = known_model(name).spec;
    EXPECT_EQ(spec.parameters, count) << name << ": " << spec.no_parameters;
    EXPECT_LE(spec.active_parameters, spec.parameters) << name;
  }
  EXPECT_EQ(known_model("mixtral-8x7b").spec.active_parameters, 12'879'925'248);
}

Index counted(const std::string& config) {
  const auto count = weight_count(nlohmann::json::parse(config), "c.json");
  return count ? count->parameters : -1;
}

TEST(Weights, OfOlderFamilies) {
  EXPECT_EQ(counted(R"({"model_type": "opt", "num_hidden_layers": 12, "hidden_size": 768,
    "vocab_size": 50272, "max_position_embeddings": 2048, "ffn_dim": 3072})"),
            125'239'296);
  EXPECT_EQ(counted(R"({"model_type": "bloom", "n_layer": 24, "hidden_size": 1024,
    "vocab_size": 250880})"),
            559'214'592);
  EXPECT_EQ(counted(R"({"model_type": "gpt_neox", "num_hidden_layers": 12, "hidden_size": 768,
    "vocab_size": 50304, "intermediate_size": 3072})"),
            162'322'944);  // Pythia 160m
  EXPECT_EQ(counted(R"({"model_type": "qwen2", "num_hidden_layers": 28, "hidden_size": 3584,
    "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064,
    "intermediate_size": 18944, "tie_word_embeddings": false})"),
            7'615'616'512);
}

TEST(Weights, AreNotGuessed) {
  EXPECT_EQ(counted(R"({"model_type": "wonder", "vocab_size": 10})"), -1);
  EXPECT_EQ(known_model("glm-5").spec.parameters, 0);
  EXPECT_NE(known_model("glm-5").spec.no_parameters, "");
}

}  // namespace
}  // namespace attn
