// The tutorial's recipe, trained: ten seeds learn the task, and their losses fall as those of the
// same recipe in PyTorch do.

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "core/parallel.h"
#include "support/truth.h"
#include "train/progressions.h"
#include "train/trainer.h"

namespace attn {
namespace {

constexpr Index kSteps = 300;
constexpr double kFloor = 0.199747688748747;  // ln 9 / 11

struct Curve {
  std::vector<double> losses;
  Evaluation end;
};

Curve train_recipe(std::uint64_t seed) {
  const Progressions data(seed);
  Transformer<float> model(ModelConfig{});
  model.params().initialise(seed);
  TrainerSettings settings;
  settings.adamw.lr = 3e-3;
  settings.threads = available_threads();
  Trainer<float> trainer(model, data, settings);
  for (Index step = 0; step < kSteps; ++step) trainer.step();
  Curve run;
  run.end = trainer.evaluate();
  run.losses = trainer.state().losses;
  return run;
}

double mean_of_last_10(const std::vector<double>& losses, std::ptrdiff_t step) {
  return std::accumulate(losses.begin() + step - 10, losses.begin() + step, 0.0) / 10;
}

std::optional<nlohmann::json> pytorch_record() {
  for (const auto& file :
       testing::truth_places("reference", "ATTNTOOLS_REFERENCE_DIR", "training.json")) {
    if (std::filesystem::exists(file)) return nlohmann::json::parse(std::ifstream(file));
  }
  return std::nullopt;
}

class Recipe : public ::testing::TestWithParam<int> {};

TEST_P(Recipe, LearnsTheTaskIn300Steps) {
  const Curve run = train_recipe(static_cast<std::uint64_t>(GetParam()));
  EXPECT_EQ(run.end.accuracy, 1.0);
  EXPECT_EQ(run.end.counted, 90 * 11);
  // No causal model gets below the floor; after 300 steps PyTorch's three runs are within 0.010.
  EXPECT_GT(run.end.loss, kFloor);
  EXPECT_LT(run.end.loss, kFloor + 0.02);
  EXPECT_NEAR(run.losses.front(), 2.45, 0.15);  // 40 initialisations in PyTorch: 2.387 to 2.518
}

INSTANTIATE_TEST_SUITE_P(Seeds, Recipe, ::testing::Range(0, 10));

// The curve itself. Another generator gives other batches, so a mean over ten steps is held to the
// median of the recorded runs with a margin: early, where the loss falls fastest and the recorded
// runs differ by 7 %, a quarter; later, where they differ by 1.3 %, four times that.
TEST(RecipeReference, LossesFallAsInPyTorch) {
  const auto record = pytorch_record();
  if (!record) GTEST_SKIP() << "training.json is not here";
  const auto& medians = record->at("median_loss_mean_of_last_10");
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    const Curve run = train_recipe(seed);
    for (const auto& [step, margin] :
         {std::pair{50, 0.25}, {100, 0.05}, {200, 0.05}, {300, 0.05}}) {
      const double median = medians.at(std::to_string(step)).get<double>();
      EXPECT_NEAR(mean_of_last_10(run.losses, step), median, margin * median)
          << "seed " << seed << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace attn
