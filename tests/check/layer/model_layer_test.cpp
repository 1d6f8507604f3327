#include "check/layer/model_layer.h"

#include <gtest/gtest.h>

#include "check/layer/check_layer.h"
#include "check/layer/layer_reference.h"
#include "check/verdict/tolerance.h"
#include "core/error.h"
#include "model/checkpoint.h"
#include "support/model_inputs.h"
#include "support/truth.h"

namespace attn {
namespace {

BlockTokens tokens_of(const Hdf5Reader& file) {
  BlockTokens tokens;
  tokens.ids = file.read<Index>("/input/ids");
  const auto mask = [&](const char* name, std::vector<std::uint8_t>& to) {
    if (file.has_dataset(name)) to = file.read<std::uint8_t>(name).values;
  };
  mask("/input/padding_mask", tokens.key_mask);
  if (!file.has_dataset("/input/source")) return tokens;
  tokens.source = file.read<Index>("/input/source");
  mask("/input/source_mask", tokens.source_mask);
  return tokens;
}

TEST(ModelLayer, PlacesAreReadAndRefused) {
  ModelConfig config;
  EXPECT_EQ(parse_block("1", config.completed()).module(), "blocks.1.attn");
  EXPECT_THROW(parse_block("2", config.completed()), UsageError);
  EXPECT_THROW(parse_block("encoder.0", config.completed()), UsageError);
  EXPECT_THROW(parse_block("0.cross", config.completed()), UsageError);
  config.arch = Arch::kEncoderDecoder;
  const ModelConfig two = config.completed();
  EXPECT_EQ(parse_block("0.cross", two).module(), "decoder.blocks.0.cross_attn");
  EXPECT_EQ(parse_block("encoder.1", two).module(), "encoder.blocks.1.attn");
  EXPECT_EQ(parse_block("decoder.blocks.0.attn", two).module(), "decoder.blocks.0.attn");
  EXPECT_THROW(parse_block("encoder.0.cross", two), UsageError);
  EXPECT_THROW(parse_block("x", two), UsageError);
}

// The weights of every attention of every model with truth, from the layer that is taken out of it.
// What differs is the rounding of x to float32: a tolerance measured on float32 runs covers it.
TEST(ModelLayerReference, GivesTheWeightsOfEveryBlock) {
  attn::testing::TruthCount count;
  for (const auto& path : attn::testing::reference_files()) {
    const Hdf5Reader file = Hdf5Reader::open(path.string());
    if (!file.has_group("/expected/attention") || !file.has_dataset("/input/ids")) continue;
    const auto model = read_model<double>(file);
    const BlockTokens tokens = tokens_of(file);
    const double tolerance =
        file.real_attribute("/expected/attention", "tolerance_abs").value_or(1e-5);
    for (const std::string& module : file.children("/expected/attention")) {
      const ModelLayer read = model_layer(*model, parse_block(module, model->config()), tokens);
      validate(read.layer);
      const LayerSteps steps = reference_layer(read.layer.problem, {}, 2);
      const Tensor<double> want = file.read<double>("/expected/attention/" + module);
      ASSERT_EQ(steps[LayerStep::kWeights].shape, want.shape) << path << module;
      EXPECT_LE(difference(steps[LayerStep::kWeights], want).max_error, tolerance)
          << path << module;
    }
    count.hold();
  }
}

}  // namespace
}  // namespace attn
