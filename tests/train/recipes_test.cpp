#include "train/recipes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "model/presets.h"

namespace attn {
namespace {

TEST(Recipes, EveryPresetHasOneThatCanBeRun) {
  for (const ModelPreset& preset : model_presets()) {
    const Recipe found = recipe(preset.name);
    EXPECT_EQ(found.preset, preset.name);
    EXPECT_NO_THROW(found.settings.trainer.validate()) << preset.name;
    EXPECT_TRUE(parse_enum<InitScheme>(found.settings.init)) << preset.name;
    EXPECT_GT(found.settings.trainer.steps, 0) << preset.name;
  }
  EXPECT_THROW(recipe("gpt9"), UsageError);
}

TEST(Recipes, TheOriginalWarmsUpToTheFormulasPeak) {
  // Vaswani et al. 2017, equation 3: dim^-0.5 min(step^-0.5, step warmup^-1.5), steps from 1.
  const Schedule rates = recipe("original").settings.trainer.rates();
  const auto formula = [](double step) {
    return std::pow(512, -0.5) * std::min(std::pow(step, -0.5), step * std::pow(4000, -1.5));
  };
  for (const Index step : {1, 2000, 4000, 16000, 100000}) {
    // 6.99e-4 is the peak to three digits.
    EXPECT_NEAR(rates.rate(step - 1) / formula(static_cast<double>(step)), 1, 1e-3) << step;
  }
}

TEST(Recipes, NanogptEndsAtATenthOfItsRate) {
  const Schedule rates = recipe("nanogpt-cpu").settings.trainer.rates();
  EXPECT_DOUBLE_EQ(rates.rate(99), 1e-3);
  EXPECT_DOUBLE_EQ(rates.rate(2000), 1e-4);
}

}  // namespace
}  // namespace attn
