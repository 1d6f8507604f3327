#include "model/attention_maps.h"

#include <gtest/gtest.h>

#include "io/hdf5_reader.h"
#include "model/configurations.h"
#include "model/induction_score.h"
#include "text/id_tokenizer.h"

namespace attn {
namespace {

const std::vector<Index> kIds = {3, 5, 7, 9, 1};
constexpr Index kLength = 5;

Transformer<float>& model() {
  static Transformer<float> one([] {
    ModelConfig config;
    config.dim = 16;
    config.heads = 4;
    config.kv_heads = 2;
    return config;
  }());
  one.params().initialise(7);
  return one;
}

// The tutorial's picture: rows sum to 1, nothing looks ahead, and the mask says which zeros are
// the mask's.
TEST(AttentionMaps, AreCausalDistributions) {
  const AttentionMaps maps = attention_maps(model(), kIds, IdTokenizer(10), 1);
  EXPECT_EQ(maps.weights.shape, (Shape{2, 4, kLength, kLength}));
  EXPECT_EQ(maps.query_tokens, (std::vector<std::string>{"3", "5", "7", "9", "1"}));
  EXPECT_EQ(maps.key_tokens, maps.query_tokens);
  EXPECT_EQ(maps.part, "");
  EXPECT_EQ(maps.module, "blocks.*.attn");
  EXPECT_FALSE(maps.induction) << "no token comes twice";
  for (Index block = 0; block < maps.blocks(); ++block) {
    for (Index head = 0; head < maps.heads(); ++head) {
      const Matrix<const float> map = maps.map(block, head);
      for (Index query = 0; query < kLength; ++query) {
        double sum = 0;
        for (Index key = 0; key < kLength; ++key) {
          sum += static_cast<double>(map(query, key));
          EXPECT_EQ(maps.hidden.matrix()(query, key), key > query ? 1 : 0);
          if (key > query) {
            EXPECT_EQ(map(query, key), 0.0F);
          } else {
            EXPECT_GT(map(query, key), 0.0F);
          }
        }
        EXPECT_NEAR(sum, 1.0, 1e-6);  // five float32 weights
      }
    }
  }
}

// What went in comes out under the names that plotters look for.
TEST(AttentionMaps, AreWrittenWithTheirAxes) {
  const AttentionMaps maps = attention_maps(model(), kIds, IdTokenizer(10), 1);
  Hdf5Writer writer;
  write_attention_maps(writer, maps);
  const Hdf5Image image = writer.finish();
  const Hdf5Reader reader =
      Hdf5Reader::from_bytes({image.bytes().begin(), image.bytes().end()}, "maps");
  const Tensor<float> weights = reader.read<float>("/attention");
  EXPECT_EQ(weights.shape, maps.weights.shape);
  EXPECT_EQ(weights.values, maps.weights.values);
  EXPECT_EQ(reader.read<std::uint8_t>("/hidden").values, maps.hidden.values);
  for (const char* axis : {"/block", "/head", "/query", "/key"}) {
    EXPECT_EQ(reader.text_attribute(axis, "CLASS"), "DIMENSION_SCALE") << axis;
  }
  EXPECT_TRUE(reader.has_dataset("/query_token"));
  EXPECT_TRUE(reader.has_dataset("/key_token"));
}

TEST(AttentionMaps, DoNotDependOnThreads) {
  const AttentionMaps one = attention_maps(model(), kIds, IdTokenizer(10), 1);
  const AttentionMaps three = attention_maps(model(), kIds, IdTokenizer(10), 3);
  EXPECT_EQ(one.weights.values, three.weights.values);
}

TEST(AttentionMaps, TellInductionWhereATokenRecurs) {
  const std::vector<Index> ids = {3, 5, 7, 3, 5};
  const AttentionMaps maps = attention_maps(model(), ids, IdTokenizer(10), 1);
  ASSERT_TRUE(maps.induction);
  EXPECT_EQ(maps.induction->shape, (Shape{2, 4}));
  for (Index block = 0; block < 2; ++block) {
    for (Index head = 0; head < 4; ++head) {
      const Matrix<const float> map = maps.map(block, head);
      EXPECT_EQ(maps.induction->matrix()(block, head), *induction_score(map, ids));
      EXPECT_EQ(maps.induction->matrix()(block, head),
                (static_cast<double>(map(3, 1)) + static_cast<double>(map(4, 2))) / 2);
    }
  }
}

// An encoder sees both ways; there is nothing hidden and nothing causal to score.
TEST(AttentionMaps, OfAnEncoderHideNothing) {
  ModelConfig config;
  config.arch = Arch::kEncoder;
  config.dim = 16;
  Transformer<float> encoder(config);
  testing::scramble(encoder.params(), 5);
  const std::vector<Index> ids = {3, 3, 7};
  const AttentionMaps maps = attention_maps(encoder, ids, IdTokenizer(10), 1);
  EXPECT_EQ(maps.hidden.values, std::vector<std::uint8_t>(9, 0));
  EXPECT_FALSE(maps.induction);
  for (const float weight : maps.weights.values) EXPECT_GT(weight, 0.0F);
}

// An encoder-decoder of 2 and 3 blocks: 4 source tokens, 3 of its own.
class TwoStackMaps : public ::testing::Test {
 protected:
  TwoStackMaps() : model_(config()) { testing::scramble(model_.params(), 5); }
  static ModelConfig config() {
    ModelConfig config;
    config.arch = Arch::kEncoderDecoder;
    config.dim = 16;
    config.heads = 2;
    config.depth = 3;
    config.encoder_depth = 2;
    config.source_vocab_size = 20;
    return config;
  }
  std::vector<AttentionMaps> maps(int threads = 1) const {
    return attention_maps(model_, ids_, IdTokenizer(10), source_, &source_tokenizer_, threads);
  }

  Transformer<float> model_;
  IdTokenizer source_tokenizer_{20};
  std::vector<Index> ids_ = {0, 5, 2}, source_ = {13, 14, 15, 11};
};

TEST_F(TwoStackMaps, AreOfThreeKindsEachWithItsTokens) {
  const std::vector<AttentionMaps> all = maps();
  ASSERT_EQ(all.size(), 3U);
  const std::vector<std::string> own = {"0", "5", "2"};
  const std::vector<std::string> read = {"13", "14", "15", "11"};
  EXPECT_EQ(all[0].part, "encoder");
  EXPECT_EQ(all[0].module, "encoder.blocks.*.attn");
  EXPECT_EQ(all[0].weights.shape, (Shape{2, 2, 4, 4}));
  EXPECT_EQ(all[0].query_tokens, read);
  EXPECT_EQ(all[0].key_tokens, read);
  EXPECT_EQ(all[1].part, "decoder");
  EXPECT_EQ(all[1].weights.shape, (Shape{3, 2, 3, 3}));
  EXPECT_EQ(all[1].query_tokens, own);
  EXPECT_EQ(all[1].key_tokens, own);
  EXPECT_EQ(all[2].part, "cross");
  EXPECT_EQ(all[2].module, "decoder.blocks.*.cross_attn");
  EXPECT_EQ(all[2].weights.shape, (Shape{3, 2, 3, 4}));
  EXPECT_EQ(all[2].query_tokens, own);
  EXPECT_EQ(all[2].key_tokens, read);
  EXPECT_EQ(all[0].hidden.values, std::vector<std::uint8_t>(16, 0));
  EXPECT_EQ(all[1].hidden.values, (std::vector<std::uint8_t>{0, 1, 1, 0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(all[2].hidden.values, std::vector<std::uint8_t>(12, 0));
}

TEST_F(TwoStackMaps, AreThoseOfThePass) {
  const std::vector<AttentionMaps> all = maps();
  Workspace work;
  Probe<float> probe;
  probe.want_weights = true;
  Pass<float> pass = model_.pass(work);
  pass.probe = &probe;
  model_.forward(pass, {ids_, {1, 3, nullptr}, source_, {1, 4, nullptr}}, nullptr, nullptr);
  for (const AttentionMaps& maps : all) {
    for (Index block = 0; block < maps.blocks(); ++block) {
      std::string name = maps.module;
      name.replace(name.find('*'), 1, std::to_string(block));
      const Tensor<float>& expected = probe.weights.at(name);
      for (Index head = 0; head < 2; ++head) {
        const Matrix<const float> map = maps.map(block, head);
        for (Index query = 0; query < map.rows(); ++query) {
          for (Index key = 0; key < map.cols(); ++key) {
            EXPECT_EQ(map(query, key), expected.matrix()(head * map.rows() + query, key)) << name;
          }
        }
      }
    }
  }
  const std::vector<AttentionMaps> again = maps(3);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(all[i].weights.values, again[i].weights.values);
}

TEST_F(TwoStackMaps, AreWrittenSideBySide) {
  Hdf5Writer writer;
  for (const AttentionMaps& maps : maps()) write_attention_maps(writer, maps);
  const Hdf5Image image = writer.finish();
  const Hdf5Reader reader =
      Hdf5Reader::from_bytes({image.bytes().begin(), image.bytes().end()}, "maps");
  for (const AttentionMaps& maps : maps()) {
    const std::string group = "/" + maps.part;
    EXPECT_EQ(reader.read<float>(group + "/attention").shape, maps.weights.shape);
    EXPECT_EQ(reader.read<float>(group + "/attention").values, maps.weights.values);
    EXPECT_EQ(reader.text_attribute(group + "/attention", "module"), maps.module);
    for (const char* axis : {"/block", "/head", "/query", "/key"}) {
      EXPECT_EQ(reader.text_attribute(group + axis, "CLASS"), "DIMENSION_SCALE") << axis;
    }
    EXPECT_EQ(reader.read<Index>(group + "/query").size(), maps.hidden.dim(0));
    EXPECT_EQ(reader.read<Index>(group + "/key").size(), maps.hidden.dim(1));
    EXPECT_TRUE(reader.has_dataset(group + "/query_token"));
    EXPECT_TRUE(reader.has_dataset(group + "/key_token"));
  }
}

TEST_F(TwoStackMaps, NeedTheirSource) {
  EXPECT_THROW(attention_maps(model_, ids_, IdTokenizer(10), 1), ShapeError);
  EXPECT_THROW(attention_maps(model(), ids_, IdTokenizer(10), source_, &source_tokenizer_, 1),
               ShapeError);
}

}  // namespace
}  // namespace attn
