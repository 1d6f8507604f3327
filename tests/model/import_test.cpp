#include "model/import/import_model.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text.h"
#include "io/safetensors_writer.h"
#include "model/configurations.h"
#include "model/import/export_model.h"
#include "model/import/hf_tokenizer.h"
#include "model/import/move_tensor.h"
#include "support/process.h"
#include "text/char_tokenizer.h"
#include "text/gpt2_pieces.h"
#include "text/utf8.h"

namespace attn {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json gpt2_json() {
  return {{"model_type", "gpt2"}, {"n_embd", 8},        {"n_head", 2},     {"n_layer", 1},
          {"n_positions", 8},     {"n_inner", nullptr}, {"vocab_size", 11}};
}

json llama_json() {
  return {{"model_type", "llama"},
          {"hidden_size", 8},
          {"intermediate_size", 12},
          {"num_hidden_layers", 1},
          {"num_attention_heads", 4},
          {"num_key_value_heads", 2},
          {"head_dim", 4},
          {"max_position_embeddings", 16},
          {"vocab_size", 11},
          {"rms_norm_eps", 1e-5}};
}

HfConfig read(const json& object) {
  return read_hf_config(object.dump(), "config.json");
}

std::string refusal(json object, const json& change) {
  object.update(change);
  try {
    const HfConfig read_config = read(object);
    std::string unknown;
    for (const std::string& key : read_config.unknown) unknown += " " + key;
    return "(accepted)" + unknown;
  } catch (const DataError& error) {
    return error.what();
  }
}

// ---- config.json ---------------------------------------------------------------------------

TEST(HfConfig, Gpt2IsReadAsItsClassWouldFillItIn) {
  const HfConfig read_config = read(gpt2_json());
  const ModelConfig& c = read_config.model;
  EXPECT_EQ(c.position, Position::kLearned);
  EXPECT_EQ(c.max_positions, 8);
  EXPECT_EQ(c.mlp_hidden, 32) << "n_inner null is 4 * n_embd";
  EXPECT_EQ(c.activation, MlpActivation::kGeluTanh) << "gelu_new, the class's default";
  EXPECT_EQ(c.norm_eps, 1e-5);
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_TRUE(c.bias && *c.out_bias && *c.mlp_bias && c.norm_bias);
  EXPECT_FALSE(c.head_bias);
}

TEST(HfConfig, LlamaIsReadAsItsClassWouldFillItIn) {
  json object = llama_json();
  EXPECT_EQ(read(object).model.head_dim, 4);
  EXPECT_EQ(read(object).model.kv_heads, 2);
  EXPECT_EQ(read(object).model.rope_base, 10000);
  EXPECT_EQ(read(object).model.norm_eps, 1e-5);
  EXPECT_FALSE(read(object).model.bias);
  EXPECT_FALSE(*read(object).model.mlp_bias);
  for (const char* key : {"head_dim", "num_key_value_heads", "rms_norm_eps"}) object.erase(key);
  EXPECT_EQ(read(object).model.head_dim, 2) << "hidden_size / heads";
  EXPECT_EQ(read(object).model.kv_heads, 4) << "as many as heads";
  EXPECT_EQ(read(object).model.norm_eps, 1e-6) << "LlamaConfig's default";
  object["attention_bias"] = true;
  EXPECT_TRUE(read(object).model.bias && *read(object).model.out_bias);
  EXPECT_FALSE(*read(object).model.mlp_bias);
  object["model_type"] = "mistral";
  object.erase("attention_bias");
  EXPECT_FALSE(read(object).model.bias);
  object["model_type"] = "qwen2";
  EXPECT_TRUE(read(object).model.bias);
  EXPECT_FALSE(*read(object).model.out_bias);
  EXPECT_FALSE(*read(object).model.mlp_bias);
}

TEST(HfConfig, RopeScalingsAreRead) {
  json object = llama_json();
  object["rope_theta"] = 500000.0;
  object["rope_scaling"] = {{"rope_type", "llama3"},
                            {"factor", 8.0},
                            {"low_freq_factor", 1.0},
                            {"high_freq_factor", 4.0},
                            {"original_max_position_embeddings", 64}};
  const ModelConfig c = read(object).model;
  EXPECT_EQ(c.rope_base, 500000);
  EXPECT_EQ(c.rope_scaling.kind, RopeScalingKind::kLlama3);
  EXPECT_EQ(c.rope_scaling.factor, 8);
  EXPECT_EQ(c.rope_scaling.original_max_positions, 64);
  object["rope_scaling"] = {{"type", "linear"}, {"factor", 2.0}};
  EXPECT_EQ(read(object).model.rope_scaling.kind, RopeScalingKind::kLinear);
}

TEST(HfConfig, CountsArePossible) {
  for (const json& value : {json(0), json(-8), json(8.5), json("8"), json(true), json(nullptr),
                            json(1LL << 30), json(~0ULL), json::array({8})}) {
    EXPECT_THAT(refusal(gpt2_json(), {{"n_embd", value}}), HasSubstr("config.json: n_embd must be"))
        << value;
  }
  EXPECT_EQ(refusal(gpt2_json(), {{"n_head", 3}}),
            "config.json: n_head 3 does not divide n_embd 8");
  EXPECT_EQ(refusal(llama_json(), {{"num_key_value_heads", 3}}),
            "config.json: num_key_value_heads 3 does not divide num_attention_heads 4");
  EXPECT_THAT(refusal(llama_json(), {{"head_dim", 3}}), HasSubstr("head_dim 3 is odd"));
  EXPECT_THAT(refusal(llama_json(), {{"rms_norm_eps", 0}}), HasSubstr("rms_norm_eps must be"));
  EXPECT_THAT(refusal(llama_json(), {{"rope_theta", -1}}), HasSubstr("rope_theta must be"));
  EXPECT_THAT(refusal(llama_json(), {{"tie_word_embeddings", "yes"}}),
              HasSubstr("tie_word_embeddings must be true or false, it is \"yes\""));
  EXPECT_THAT(refusal(llama_json(), {{"eos_token_id", "</s>"}}), HasSubstr("eos_token_id must be"));
}

TEST(HfConfig, WhatChangesTheMathematicsIsRefusedByItsKey) {
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, json>>{{"scale_attn_by_inverse_layer_idx", true},
                                                 {"scale_attn_weights", false},
                                                 {"reorder_and_upcast_attn", true},
                                                 {"add_cross_attention", true},
                                                 {"activation_function", "quick_gelu"},
                                                 {"attn_logit_softcapping", 30.0},
                                                 {"num_experts", 8},
                                                 {"sliding_window", 4},
                                                 {"quantization_config", {{"bits", 4}}},
                                                 {"alibi", true}}) {
    EXPECT_THAT(refusal(gpt2_json(), {{key, value}}), HasSubstr("config.json: " + key)) << value;
  }
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, json>>{{"hidden_act", "gelu"},
                                                 {"sliding_window", 4096},
                                                 {"partial_rotary_factor", 0.5},
                                                 {"residual_multiplier", 0.22},
                                                 {"embedding_multiplier", 12.0},
                                                 {"logits_scaling", 16.0},
                                                 {"query_pre_attn_scalar", 256},
                                                 {"use_qk_norm", true},
                                                 {"layer_types", {"sliding_attention"}},
                                                 {"rope_interleave", true},
                                                 {"text_config", {{"hidden_size", 8}}}}) {
    EXPECT_THAT(refusal(llama_json(), {{key, value}}), HasSubstr(key)) << value;
  }
  EXPECT_THAT(
      refusal(llama_json(),
              {{"model_type", "mistral"}, {"use_sliding_window", false}, {"sliding_window", 4096}}),
      HasSubstr("sliding_window 4096"))
      << "a switch that this class has not";
  EXPECT_THAT(refusal(llama_json(), {{"rope_scaling", {{"rope_type", "spiral"}, {"factor", 2.0}}}}),
              HasSubstr("rope_scaling: rope_type 'spiral' is not known"));
  EXPECT_THAT(refusal(llama_json(), {{"rope_scaling", {{"factor", 2.0}}}}),
              HasSubstr("rope_scaling has a factor and no rope_type"));
  EXPECT_THAT(refusal(llama_json(), {{"rope_scaling", {{"rope_type", "llama3"}, {"factor", 2.0}}}}),
              HasSubstr("rope_scaling: low_freq_factor must be given"));
  EXPECT_THAT(refusal(gpt2_json(), {{"model_type", "mamba"}}),
              HasSubstr("model_type 'mamba' is not supported"));
  EXPECT_THAT(refusal(gpt2_json(), {{"model_type", nullptr}}), HasSubstr("lacks model_type"));
  EXPECT_THAT(refusal(gpt2_json(), {{"attn_\x1b[31m", 1}}), HasSubstr("attn_\\x1b[31m"));
}

TEST(HfConfig, WhatChangesNothingIsPassedOver) {
  EXPECT_EQ(refusal(gpt2_json(), {{"attn_pdrop", 0.1},
                                  {"n_ctx", 8},
                                  {"summary_first_dropout", 0.1},
                                  {"task_specific_params", {{"text-generation", {{"x", 1}}}}},
                                  {"scale_attn_weights", true},
                                  {"num_experts", nullptr},
                                  {"transformers_version", "4.40"}}),
            "(accepted)");
  EXPECT_EQ(refusal(llama_json(), {{"attention_dropout", 0.1},
                                   {"pretraining_tp", 2},
                                   {"sliding_window", nullptr},
                                   {"use_sliding_window", false},
                                   {"layer_types", {"full_attention"}},
                                   {"rope_scaling", nullptr}}),
            "(accepted)");
  EXPECT_EQ(refusal(llama_json(), {{"use_sliding_window", false}, {"sliding_window", 4096}}),
            "(accepted)");
  EXPECT_EQ(refusal(llama_json(), {{"unsloth_version", "2024.9"}}), "(accepted) unsloth_version");
}

TEST(HfConfig, TheEndComesFromTheGenerationConfigFirst) {
  json object = llama_json();
  object["eos_token_id"] = {2, 3};
  object["bos_token_id"] = 1;
  object["pad_token_id"] = 11;  // outside the vocabulary: pads nothing
  HfConfig config = read(object);
  EXPECT_EQ(config.specials.eos, 2);
  EXPECT_THAT(config.ends, ElementsAre(2, 3));
  EXPECT_FALSE(config.specials.pad.has_value());
  EXPECT_FALSE(config.specials.bos.has_value()) << "nothing is put before a prompt";
  read_generation_config(R"({"eos_token_id": 5, "temperature": 0.6})", "generation_config.json",
                         config);
  EXPECT_EQ(config.specials.eos, 5);
}

// ---- tensors -------------------------------------------------------------------------------

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

// A model folder in memory.
struct Stored {
  json config;
  std::map<std::string, std::pair<Shape, std::vector<float>>> tensors;

  explicit Stored(const Transformer<float>& model) {
    for (ExportedFile& file : export_model(model, nullptr, DType::kF32)) {
      if (file.name == "config.json") {
        config = json::parse(as_text(file.bytes));
        continue;
      }
      const SafetensorsFile weights = SafetensorsFile::from_bytes(std::move(file.bytes), "w");
      for (const SafetensorsEntry& entry : weights.entries()) {
        auto& tensor = tensors[entry.name];
        tensor.first = entry.shape;
        tensor.second.resize(static_cast<std::size_t>(*checked_product(entry.shape)));
        weights.read(entry, tensor.second.data());
      }
    }
  }
  SafetensorsFolder files() const {
    std::vector<SafetensorsTensor> list;
    for (const auto& [name, tensor] : tensors) list.push_back({name, tensor.first});
    SafetensorsWriter writer(list, DType::kF32);
    for (const auto& entry : tensors) writer.write(entry.second.second.data());
    return SafetensorsFolder::of(SafetensorsFile::from_bytes(writer.finish(), "w.safetensors"));
  }
  std::unique_ptr<Transformer<float>> model() const {
    const SafetensorsFolder stored = files();
    return import_model(plan_import(read(config), stored));
  }
  std::string refusal() const {
    try {
      model();
    } catch (const DataError& error) {
      return error.what();
    }
    return "(accepted)";
  }
};

Stored a_gpt2(bool tied = true) {
  ModelConfig config = read(gpt2_json()).model;
  config.tie_embeddings = tied;
  Transformer<float> model(config);
  testing::scramble(model.params(), 3);
  return Stored(model);
}

Stored a_llama(bool tied = false) {
  ModelConfig config = read(llama_json()).model;
  config.tie_embeddings = tied;
  Transformer<float> model(config);
  testing::scramble(model.params(), 4);
  return Stored(model);
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

// ---- export --------------------------------------------------------------------------------

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

// ---- tokenizers ----------------------------------------------------------------------------

class HfTokenizerTest : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  HfTokenizer read_it(Index vocab_size, const SpecialTokens& specials = {}) {
    return read_hf_tokenizer(folder_.path().string(), vocab_size, specials, 1 << 20);
  }
  std::string refusal(Index vocab_size) {
    try {
      read_it(vocab_size);
    } catch (const DataError& error) {
      return error.what();
    }
    return "(accepted)";
  }
  testing::TempFolder folder_;
};

TEST_F(HfTokenizerTest, SingleCharactersMakeACharacterTokenizerAndComeBack) {
  put("vocab.json", R"({"\n": 0, "a": 1, "\u00e9": 2, "<eos>": 3})");
  const HfTokenizer read_one = read_it(4);
  ASSERT_NE(read_one.tokenizer, nullptr) << read_one.note;
  EXPECT_EQ(read_one.tokenizer->data().kind, "characters");
  EXPECT_THAT(read_one.tokenizer->encode("a\n\xc3\xa9"), ElementsAre(1, 0, 2));
  EXPECT_EQ(read_one.tokenizer->specials().eos, 3);
  const auto files = hf_tokenizer_files(*read_one.tokenizer);
  EXPECT_EQ(json::parse(files.at("vocab.json")),
            json::parse(R"({"\n": 0, "a": 1, "é": 2, "<eos>": 3})"));
}

TEST_F(HfTokenizerTest, VocabularyAndMergesMakeBytePairsAndComeBack) {
  json words;
  for (int byte = 0; byte < 256; ++byte) {
    words[utf8_character(gpt2_letter(static_cast<unsigned char>(byte)))] = byte;
  }
  words["ab"] = 256;
  words["<|endoftext|>"] = 257;
  for (const auto& [vocabulary, merges] :
       {std::pair("encoder.json", "vocab.bpe"), std::pair("vocab.json", "merges.txt")}) {
    put(vocabulary, words.dump());
    put(merges, "#version: 0.2\na b\n");
    const HfTokenizer read_one = read_it(258);
    ASSERT_NE(read_one.tokenizer, nullptr) << read_one.note;
    EXPECT_THAT(read_one.tokenizer->encode("abc"), ElementsAre(256, 'c'));
    EXPECT_EQ(read_one.tokenizer->specials().eos, 257);
    const auto files = hf_tokenizer_files(*read_one.tokenizer);
    EXPECT_EQ(files.at("vocab.json"), words.dump());
    EXPECT_EQ(files.at("merges.txt"), "#version: 0.2\na b\n");
    EXPECT_EQ(read_it(300).tokenizer->vocab_size(), 300) << "ids that no text has";
    EXPECT_THAT(refusal(257), HasSubstr(vocabulary));
    for (const char* name : {vocabulary, merges}) std::filesystem::remove(folder_ / name);
  }
}

TEST_F(HfTokenizerTest, WithoutFilesThereAreIds) {
  EXPECT_EQ(read_it(4).tokenizer, nullptr);
  SpecialTokens specials;
  specials.eos = 2;
  const HfTokenizer ids = read_it(4, specials);
  ASSERT_NE(ids.tokenizer, nullptr);
  EXPECT_EQ(ids.tokenizer->data().kind, "ids");
  EXPECT_EQ(ids.tokenizer->specials().eos, 2);
  put("tokenizer.json", "{}");
  EXPECT_THAT(read_it(4).note, HasSubstr("tokenizer.json is not read"));
  put("vocab.json", R"({"the": 0, "a": 1})");
  EXPECT_THAT(read_it(2).note, HasSubstr("no merges.txt beside it"));
}

TEST_F(HfTokenizerTest, ABeginningIsSaidByTheTokenizersConfiguration) {
  EXPECT_FALSE(adds_bos(folder_.path().string(), 1000));
  put("tokenizer_config.json", R"({"add_bos_token": true, "model_max_length": 64})");
  EXPECT_TRUE(adds_bos(folder_.path().string(), 1000));
  SpecialTokens specials;
  specials.bos = specials.eos = 0;
  const CharTokenizer lines("\nab", specials);
  const auto files = hf_tokenizer_files(lines);
  EXPECT_EQ(files.size(), 2U);
  EXPECT_EQ(files.at("tokenizer_config.json"), "{\"add_bos_token\": true}\n");
  EXPECT_EQ(hf_tokenizer_files(CharTokenizer("\nab")).size(), 1U);
}

TEST_F(HfTokenizerTest, ABrokenVocabularyIsRefused) {
  put("vocab.json", R"({"a": 0, "b": 1, "c": 2})");
  EXPECT_THAT(refusal(2), HasSubstr("it has 3 tokens, the model 2"));
  EXPECT_THAT(read_it(5).note, HasSubstr("has 3 tokens, the model 5"));
  for (const char* text : {R"({"a": 0, "b": 2})", R"({"a": 0, "b": 0})", R"({"a": 0, "b": -1})",
                           R"({"a": 0, "b": "1"})", R"({"a": 0.0, "b": 1})"}) {
    put("vocab.json", text);
    EXPECT_THAT(refusal(2), HasSubstr("its ids must be 0 to 1, each once")) << text;
  }
  put("vocab.json", R"({"a": 0, "a": 1})");
  EXPECT_THAT(refusal(2), HasSubstr("'a' stands there twice"));
  put("vocab.json", "[]");
  EXPECT_THAT(refusal(2), HasSubstr("not a JSON object"));
}

}  // namespace
}  // namespace attn
