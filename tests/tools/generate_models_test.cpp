// The program and models of every arrangement, with tokenizers of every kind: what it prints is
// what the library says.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/rng.h"
#include "io/output.h"
#include "model/checkpoint.h"
#include "model/decoding.h"
#include "model/filling.h"
#include "support/process.h"
#include "text/byte_tokenizer.h"
#include "text/char_tokenizer.h"
#include "text/word_tokenizer.h"

namespace attn {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

// A model of noise: its answers differ with what it reads, and a temperature makes them vary.
std::unique_ptr<Transformer<float>> noisy_model(ModelConfig config) {
  config.dim = 16;
  config.heads = 2;
  config.depth = 1;
  if (config.arch == Arch::kEncoderDecoder) {
    config.encoder_depth = 1;
    config.source_vocab_size = config.vocab_size;
  }
  auto model = std::make_unique<Transformer<float>>(config.completed());
  Rng rng(7, RandomPurpose::kExample);
  for (Index i = 0; i < model->params().size(); ++i) {
    model->params().values()[i] = static_cast<float>(0.5 * rng.normal());
  }
  return model;
}

class GenerateModels : public ::testing::Test {
 protected:
  void save(const Transformer<float>& model, const Tokenizer& tokenizer) {
    Hdf5Writer writer;
    write_checkpoint(writer, model, &tokenizer, nullptr);
    write_output((folder_ / "m.h5").string(), writer.finish());
  }
  testing::RunResult run(const std::string& words) const {
    testing::RunOptions options;
    options.folder = folder_.path();
    return testing::run_shell("tinygpt-generate m.h5 " + words, options);
  }
  Json result(const std::string& words) const {
    const auto ran = run("--json " + words);
    EXPECT_EQ(ran.status, 0) << ran.err;
    return ran.status == 0 ? Json::parse(ran.out).at("results").at(0) : Json();
  }
  testing::TempFolder folder_;
};

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

// A source of 0 1 2 is 2 3 4; the answer is in words, and ends.
class GenerateAnswers : public GenerateModels {
 protected:
  GenerateAnswers() {
    ModelConfig config;
    config.arch = Arch::kEncoderDecoder;
    config.vocab_size = tokenizer_.vocab_size();
    config.position = Position::kLearned;
    config.max_positions = 6;
    model_ = noisy_model(config);
    save(*model_, tokenizer_);
  }
  Generation expected(const std::vector<Index>& source, std::uint64_t seed) const {
    GenerationSettings settings;
    settings.new_tokens = 6;
    settings.eos = 1;
    settings.sampling.temperature = 2;
    settings.sampling.seed = seed;
    const std::vector<Index> begin = {0};
    return generate<float>(*model_, SourceTokens{source}, begin, settings);
  }
  WordTokenizer tokenizer_{"<bos> <eos> 0 1 2", SpecialTokens{{}, {}, 1, {}}};
  std::unique_ptr<Transformer<float>> model_;
};

TEST_F(GenerateAnswers, AreTheLibrarysWithAndWithoutCache) {
  Index ended = 0;
  for (std::uint64_t seed = 0; seed < 100 && ended == 0; ++seed) {
    const Generation found = expected({2, 3, 4, 4}, seed);
    std::vector<Index> shown = found.tokens;
    if (found.finish == Finish::kEos) {
      shown.pop_back();
      ++ended;
    }
    if (seed > 2 && ended == 0) continue;
    for (const char* cache : {"", "--no-cache", "--cache paged --page-size 2"}) {
      const auto ran =
          run(fmt::format("--prompt '0 1 2 2' --temperature 2 --seed {} -q {}", seed, cache));
      EXPECT_EQ(ran.status, 0) << ran.err;
      EXPECT_EQ(ran.out, tokenizer_.decode(shown) + "\n");
    }
  }
  EXPECT_EQ(ended, 1);
}

TEST_F(GenerateAnswers, ReadTheSourceOnce) {
  const Json cached = result("--prompt '0 1 2 2' --new-tokens 5 --ignore-eos");
  EXPECT_EQ(cached.at("prompt_ids"), Json({2, 3, 4, 4}));
  EXPECT_EQ(cached.at("key_rows"), 5);
  EXPECT_EQ(cached.at("cross_key_rows"), 4);
  EXPECT_EQ(cached.at("encoder_key_rows"), 4);
  EXPECT_EQ(cached.at("cache_bytes"), 2 * 16 * (5 + 4) * 4);
  const Json anew = result("--prompt '0 1 2 2' --new-tokens 5 --ignore-eos --no-cache");
  EXPECT_EQ(anew.at("text"), cached.at("text"));
  EXPECT_EQ(anew.at("key_rows"), 15);
  EXPECT_EQ(anew.at("cross_key_rows"), 20);
  EXPECT_EQ(anew.at("encoder_key_rows"), 20);
}

TEST_F(GenerateAnswers, RefuseASourceThatCannotBeRead) {
  const auto longer = run("--prompt '0 0 0 0 0 0 0'");
  EXPECT_EQ(longer.status, 2);
  EXPECT_THAT(longer.err, HasSubstr("the table has 6 rows (max_positions), the source has 7"));
  const auto unknown = run("--prompt '0 7'");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("word '7' at byte 2 is not in the vocabulary"));
  EXPECT_THAT(run("--prompt ''").err,
              HasSubstr("no token to begin with\n  a model goes on from what it is given: at least "
                        "one token, such as 0\n"));
  EXPECT_THAT(run("--prompt 0 --new-tokens 7").err, HasSubstr("a prompt of 1 and 7 new tokens"));
  EXPECT_THAT(run("--prompt 0 --mask 1").err, HasSubstr("--mask is for encoders"));
}

TEST_F(GenerateAnswers, ShowWhoLooksAtWhomInThreeParts) {
  const auto ran =
      run("--prompt '0 1 2 2' --ignore-eos --new-tokens 3 --show --dump-attention a.h5");
  EXPECT_EQ(ran.status, 0) << ran.err;
  for (const char* title : {"\nencoder block 0\n", "\ndecoder block 0\n", "\ncross block 0\n"}) {
    EXPECT_THAT(ran.out, HasSubstr(std::string(title) + "head 0   head 1\n"));
  }
  const Hdf5Reader maps = Hdf5Reader::open((folder_ / "a.h5").string());
  EXPECT_EQ(maps.info("/encoder/attention").shape, (Shape{1, 2, 4, 4}));
  EXPECT_EQ(maps.info("/decoder/attention").shape, (Shape{1, 2, 3, 3})) << "BOS and two of three";
  EXPECT_EQ(maps.info("/cross/attention").shape, (Shape{1, 2, 3, 4}));
}

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
