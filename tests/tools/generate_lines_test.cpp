// What may be typed for a model that goes on with a text, and how its answer ends: BOS and the end,
// the table's last row, characters that the tokenizer does not know.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "model/decoding.h"
#include "text/byte_tokenizer.h"
#include "text/char_tokenizer.h"
#include "tools/generate_models.h"

namespace attn {
namespace {

using testing::GenerateModels;
using ::testing::HasSubstr;
using testing::Json;
using testing::noisy_model;

// Documents that a line end begins and ends, as a list of names: ids 0 "\n", 1 "a", 2 "b", 3 "é".
class GenerateLines : public GenerateModels {
 protected:
  GenerateLines() : tokenizer_("\nabé", SpecialTokens{0, 0, 0, {}}) {
    ModelConfig config;
    config.vocab_size = 4;
    config.position = Position::kLearned;
    config.max_positions = 10;
    model_ = noisy_model(config);
    save(*model_, tokenizer_);
  }
  Generation expected(const std::vector<Index>& ids, std::optional<Index> eos, Index most) const {
    GenerationSettings settings;
    settings.new_tokens = most;
    settings.eos = eos;
    settings.sampling.temperature = 2;
    settings.sampling.seed = seed_;
    return generate<float>(*model_, ids, settings);
  }
  // A seed whose answer to the empty prompt has some characters and ends.
  void find_seed() {
    for (seed_ = 0; seed_ < 100; ++seed_) {
      const Generation found = expected({0}, 0, 9);
      if (found.finish == Finish::kEos && found.tokens.size() >= 3) return;
    }
    FAIL() << "no seed ends";
  }
  CharTokenizer tokenizer_;
  std::unique_ptr<Transformer<float>> model_;
  std::uint64_t seed_ = 0;
};

TEST_F(GenerateLines, AnEmptyPromptBeginsWithBosAndTheEndIsNotPrinted) {
  ASSERT_NO_FATAL_FAILURE(find_seed());
  const Generation whole = expected({0}, 0, 9);
  std::vector<Index> shown = whole.tokens;
  shown.pop_back();
  for (const char* prompt : {"--prompt ''", "--prompt="}) {
    const auto ran = run(fmt::format("{} --temperature 2 --seed {}", prompt, seed_));
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.out, tokenizer_.decode(shown) + "\n");
    EXPECT_THAT(ran.err, ::testing::MatchesRegex(
                             "tinygpt-generate: generated [0-9]+ tokens? for 1 prompt with .*\n"));
  }
  const Json json = result(fmt::format("--prompt '' --temperature 2 --seed {}", seed_));
  EXPECT_EQ(json.at("prompt_ids"), Json::array({0}));
  EXPECT_EQ(json.at("new_ids"), Json(whole.tokens)) << "the end among them";
  EXPECT_EQ(json.at("finish"), "eos");
  EXPECT_EQ(json.at("log_probs"), Json(whole.log_probs));
  EXPECT_EQ(json.at("key_rows"), static_cast<Index>(whole.tokens.size()));
}

TEST_F(GenerateLines, IgnoringEosGoesOnToTheTablesEndWithAWord) {
  ASSERT_NO_FATAL_FAILURE(find_seed());
  const Generation free = expected({0}, std::nullopt, 10);
  const auto ran = run(fmt::format("--prompt '' --temperature 2 --seed {} --ignore-eos", seed_));
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out, tokenizer_.decode(free.tokens) + "\n");
  EXPECT_THAT(ran.err,
              ::testing::StartsWith(
                  "tinygpt-generate: stops at the end of the model's table of 10 positions\n"));
  const Json json =
      result(fmt::format("--prompt '' --temperature 2 --seed {} --ignore-eos -q", seed_));
  EXPECT_EQ(json.at("finish"), "length");
  EXPECT_EQ(json.at("new_ids").size(), 10U);
}

TEST_F(GenerateLines, BosStandsBeforeWhatIsTypedAndIsNotEchoed) {
  const Json json = result("--prompt ab --new-tokens 2 --echo");
  EXPECT_EQ(json.at("prompt_ids"), Json({0, 1, 2}));
  EXPECT_TRUE(json.at("text").get<std::string>().starts_with("ab"));
  EXPECT_EQ(result("--prompt $'\\nab' --new-tokens 2").at("prompt_ids"), Json({0, 1, 2}))
      << "typed, it is not doubled";
}

TEST_F(GenerateLines, MoreThanTheTableHoldsIsRefusedWhereItWasAskedFor) {
  const auto ran = run("--prompt ab --new-tokens 9");
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("the table has 10 rows (max_positions), a prompt of 3 and 9 new "
                                 "tokens need 11"));
  EXPECT_EQ(run("--prompt ab --new-tokens 8 -q --ignore-eos").status, 0);
  const auto longer = run("--prompt aaaaaaaaaaa");
  EXPECT_EQ(longer.status, 2);
  EXPECT_THAT(longer.err, HasSubstr("the table has 10 rows (max_positions), a prompt of 12"));
  std::ofstream(folder_ / "lines") << "ab\n\naaaaaaaaaaa\n";
  EXPECT_THAT(run("--prompts lines").err, HasSubstr("lines line 3: position learned"));
}

TEST_F(GenerateLines, AnUnknownCharacterIsRefusedByNameOrLeftOut) {
  for (const char* refuse : {"", "--unknown error "}) {
    const auto ran = run(std::string(refuse) + "--prompt 'aéx€'");
    EXPECT_EQ(ran.status, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr("--prompt: character 'x' (U+0078) at byte 3 is not in the "
                                   "vocabulary"));
  }
  const auto skipped = run("--unknown skip --prompt 'aéx€' --new-tokens 0 --echo");
  EXPECT_EQ(skipped.status, 0);
  EXPECT_EQ(skipped.out, "aé\n");
  EXPECT_THAT(skipped.err,
              ::testing::StartsWith(
                  "tinygpt-generate: --prompt: 2 characters not in the vocabulary left out\n"));
  EXPECT_THAT(run("--unknown skip --prompt 'ab' --new-tokens 0").err,
              ::testing::StartsWith("tinygpt-generate: generated 0 tokens"));
  EXPECT_EQ(run("--unknown skip --prompt 'xyz' --new-tokens 0 --json -q").status, 0)
      << "BOS is left";
}

TEST_F(GenerateLines, InvalidUtf8IsRefusedEvenWhereTheUnknownIsSkipped) {
  for (const char* unknown : {"error", "skip"}) {
    const auto ran = run(fmt::format("--unknown {} --prompt $'a\\xffb'", unknown));
    EXPECT_EQ(ran.status, 2);
    EXPECT_THAT(ran.err, HasSubstr("--prompt: invalid UTF-8 at byte 1 (0xff)"));
  }
  std::ofstream(folder_ / "lines") << "ab\na\xff\n";
  const auto ran = run("--prompts lines");
  EXPECT_EQ(ran.status, 3);
  EXPECT_THAT(ran.err, HasSubstr("lines line 2: invalid UTF-8 at byte 1"));
}

// No BOS: text windows begin anywhere.
TEST_F(GenerateModels, WithoutBosAnEmptyPromptIsRefused) {
  ModelConfig config;
  config.vocab_size = 2;
  save(*noisy_model(config), CharTokenizer("ab"));
  for (const char* prompt : {"--prompt ''", "--unknown skip --prompt xyz -q"}) {
    const auto ran = run(prompt);
    EXPECT_EQ(ran.status, 2);
    EXPECT_THAT(ran.err, HasSubstr("--prompt: no token to begin with"));
  }
}

TEST_F(GenerateModels, BytesTakeAnyPrompt) {
  ModelConfig config;
  config.vocab_size = 256;
  save(*noisy_model(config), ByteTokenizer());
  const Json json = result("--prompt $'\\xff<mask>' --new-tokens 1 -q");
  EXPECT_EQ(json.at("prompt_ids"), Json({255, '<', 'm', 'a', 's', 'k', '>'}));
  const auto ran = run("--prompt a --unknown skip");
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("--unknown skip is for models of characters"));
}

}  // namespace
}  // namespace attn
