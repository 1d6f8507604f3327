#include "model/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "model/transformer.h"

namespace attn {
namespace {

// The configuration as a program makes it of a preset.
ModelConfig completed(const ModelPreset& preset) {
  ModelConfig config = preset.config;
  if (config.position == Position::kLearned) config.max_positions = config.seq_len;
  return config.completed();
}

TEST(Presets, EachIsAModelThatCanBeMade) {
  ASSERT_GE(model_presets().size(), 6U);
  for (const ModelPreset& preset : model_presets()) {
    const ModelConfig config = completed(preset);
    EXPECT_NO_THROW(config.validate()) << preset.name;
    EXPECT_GT(config.seq_len, 0) << preset.name;
    // The closed form and the parameters that would be made agree.
    Index numbers = 0;
    for (const ParamInfo& info : parameter_layout(config)) numbers += info.place.size();
    EXPECT_EQ(count_parameters(config).total, numbers) << preset.name;
    EXPECT_EQ(&model_preset(preset.name), &preset);
  }
}

TEST(Presets, HaveAsManyParametersAsTheirModelsAreKnownFor) {
  const auto parameters = [](const char* name) {
    return count_parameters(completed(model_preset(name))).total;
  };
  EXPECT_EQ(parameters("tutorial"), 101'386);
  EXPECT_EQ(parameters("nanogpt-cpu"), 804'096);
  EXPECT_EQ(parameters("gpt2"), 124'439'808);
  // 6 encoder blocks of 3,152,384, 6 decoder blocks with another attention (4 * 512 * 513) and norm
  // (1,024), two tables of 37,000 * 512.
  EXPECT_EQ(parameters("original"),
            6 * 3'152'384 + 6 * (3'152'384 + 4 * 512 * 513 + 1'024) + 2 * 37'000 * 512);
}

TEST(Presets, AnUnknownNameGetsTheNearest) {
  EXPECT_EQ(model_preset("nanogpt_cpu").name, "nanogpt-cpu");
  try {
    model_preset("nanogpt-cpus");
    FAIL() << "an unknown preset was found";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("'nanogpt-cpus'"));
    EXPECT_THAT(error.hints(), ::testing::ElementsAre("did you mean 'nanogpt-cpu'?"));
  }
}

}  // namespace
}  // namespace attn
