#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "model/transformer.h"
#include "ops/cross_entropy.h"

namespace attn {
namespace {

ModelConfig two_stacks() {
  ModelConfig config;
  config.arch = Arch::kEncoderDecoder;
  config.source_vocab_size = 10;
  config.depth = 3;
  config.encoder_depth = 8;
  return config;
}

// Radford et al. 2019: each projection onto the residual stream is divided by the root of how many
// of them a stack adds, two in a block, three with cross-attention.
TEST(Initialisation, CountsTheResidualAdditionsOfEachStack) {
  const std::map<std::string, Index> wanted = {{"encoder.blocks.0.attn.out_proj.weight", 16},
                                               {"encoder.blocks.7.mlp.fc2.weight", 16},
                                               {"decoder.blocks.0.attn.out_proj.weight", 9},
                                               {"decoder.blocks.1.cross_attn.out_proj.weight", 9},
                                               {"decoder.blocks.2.mlp.fc2.weight", 9}};
  std::size_t residual = 0;
  for (const ParamInfo& info : parameter_layout(two_stacks().completed())) {
    if (info.rule.residual_additions > 0) ++residual;
    const auto entry = wanted.find(info.name);
    if (entry != wanted.end()) {
      EXPECT_EQ(info.rule.residual_additions, entry->second) << info.name;
    }
  }
  EXPECT_EQ(residual, 8U * 2 + 3 * 3) << "and no other parameter has any";

  ModelConfig swiglu;
  swiglu.activation = MlpActivation::kSwiglu;
  const std::vector<ParamInfo> layout = parameter_layout(swiglu.completed());
  for (const ParamInfo& info : layout) {
    const bool last = info.name.find("down_proj") != std::string::npos ||
                      info.name.find("out_proj") != std::string::npos;
    const bool matrix = info.name.ends_with(".weight");
    EXPECT_EQ(info.rule.residual_additions, last && matrix ? 4 : 0) << info.name;
  }
}

// Logits of deviation 0.02 * sqrt(dim) around nothing: as good as guessing.
TEST(Initialisation, Gpt2BeginsAtLnOfTheVocabulary) {
  for (const bool tied : {false, true}) {
    ModelConfig config;  // the size that learns progressions
    config.tie_embeddings = tied;
    Transformer<float> model(config);
    model.params().initialise(5, InitScheme::kGpt2);
    std::vector<Index> ids, targets;
    for (Index i = 0; i < 240; ++i) {
      ids.push_back(i * 7 % 10);
      targets.push_back((i * 7 + 3) % 10);
    }
    Workspace work;
    const Matrix<float> logits =
        model.forward(model.pass(work), {ids, {20, 12, nullptr}, {}, {}}, nullptr, nullptr);
    const CrossEntropy entropy = cross_entropy<float>(logits, targets, 0, Matrix<float>());
    EXPECT_NEAR(entropy.loss_sum / static_cast<double>(entropy.counted), std::log(10.0), 0.05)
        << (tied ? "tied" : "untied");
  }
}

}  // namespace
}  // namespace attn
