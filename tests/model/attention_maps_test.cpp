#include "model/attention_maps.h"

#include <gtest/gtest.h>

#include "io/hdf5_reader.h"
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
  EXPECT_EQ(maps.tokens, (std::vector<std::string>{"3", "5", "7", "9", "1"}));
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

}  // namespace
}  // namespace attn
