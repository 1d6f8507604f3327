// A model that guesses what is masked: what is printed is what the library says.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "model/filling.h"
#include "text/char_tokenizer.h"
#include "text/word_tokenizer.h"
#include "tools/generate_models.h"

namespace attn {
namespace {

using testing::GenerateModels;
using ::testing::HasSubstr;
using testing::Json;
using testing::noisy_model;

class GenerateFillings : public GenerateModels {
 protected:
  GenerateFillings() {
    ModelConfig config;
    config.arch = Arch::kEncoder;
    config.vocab_size = tokenizer_.vocab_size();
    model_ = noisy_model(config);
    save(*model_, tokenizer_);
  }
  WordTokenizer tokenizer_{"0 1 2 3 <mask>"};
  std::unique_ptr<Transformer<float>> model_;
};

TEST_F(GenerateFillings, AreTheLibrarys) {
  const std::vector<Index> ids = {0, 4, 2, 4};
  for (const double temperature : {0.0, 3.0}) {
    FillSettings settings;
    settings.mask = 4;
    settings.sampling.temperature = temperature;
    const Filling filled = fill_masks<float>(*model_, ids, settings);
    const std::string words =
        fmt::format("--prompt '0 <mask> 2 <mask>' --temperature {}", temperature);
    EXPECT_EQ(run(words).out, tokenizer_.decode(filled.ids) + "\n");
    const Json json = result(words);
    EXPECT_EQ(json.at("prompt_ids"), Json(ids));
    EXPECT_EQ(json.at("new_ids"), Json({filled.ids[1], filled.ids[3]}));
    EXPECT_EQ(json.at("places"), Json({1, 3}));
    EXPECT_EQ(json.at("log_probs"), Json(filled.log_probs));
  }
  std::ofstream(folder_ / "lines") << "0 <mask>\n<mask> 1\n";
  const auto ran = run("--prompts lines --echo");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, ::testing::MatchesRegex("0 <mask>\\\\t0 [0-3]\n<mask> 1\\\\t[0-3] 1\n"));
}

TEST_F(GenerateFillings, NeedAMask) {
  const auto ran = run("--prompt '0 1 2'");
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.err,
            "tinygpt-generate: --prompt: no token to guess\n  write <mask> where one is hidden\n");
  EXPECT_THAT(run("--prompt '<mask>' --new-tokens 3").err,
              HasSubstr("--new-tokens is for models that say one token after another"));
}

// Characters: the mask is spelled as well, and is no character that could be unknown.
TEST_F(GenerateModels, AMaskAmongCharactersIsSpelled) {
  ModelConfig config;
  config.arch = Arch::kEncoder;
  config.vocab_size = 3;
  const CharTokenizer tokenizer("ab", SpecialTokens{{}, {}, {}, 2});
  const auto model = noisy_model(config);
  save(*model, tokenizer);
  for (const char* unknown : {"error", "skip"}) {
    const Json json = result(fmt::format("--prompt 'a<mask>b<mask>' --unknown {}", unknown));
    EXPECT_EQ(json.at("prompt_ids"), Json({0, 2, 1, 2}));
    EXPECT_EQ(json.at("text").get<std::string>().size(), 4U);
  }
}

}  // namespace
}  // namespace attn
