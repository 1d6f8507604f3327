// A model that reads a source and answers: what is printed is what the library says, the source is
// read once, and maps are of three kinds.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/hdf5_reader.h"
#include "model/decoding.h"
#include "text/word_tokenizer.h"
#include "tools/generate_models.h"

namespace attn {
namespace {

using testing::GenerateModels;
using ::testing::HasSubstr;
using testing::Json;
using testing::noisy_model;

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

}  // namespace
}  // namespace attn
