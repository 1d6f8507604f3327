#include "train/loss_floor.h"

#include <gtest/gtest.h>

#include <cmath>

#include "train/progressions.h"
#include "train/trainer.h"

namespace attn {
namespace {

double loss_after(Arch arch, Index steps) {
  const Progressions data(0, 6);
  ModelConfig config;
  config.arch = arch;
  config.dim = 32;
  config.depth = 1;
  Transformer<float> model(config);
  model.params().initialise(0);
  TrainerSettings settings;
  settings.adamw.lr = 3e-3;
  settings.batch = 64;
  Trainer<float> trainer(model, data, settings);
  for (Index step = 0; step < steps; ++step) trainer.step();
  return trainer.evaluate().loss;
}

TEST(LossFloor, IsTheEntropyOfTheUnknownStep) {
  EXPECT_DOUBLE_EQ(Progressions(0).loss_floor().value(), std::log(9.0) / 11);
  EXPECT_FALSE(passes_floor(std::log(9.0) / 11, Progressions(0).loss_floor().value()));
  EXPECT_TRUE(passes_floor(0.19, Progressions(0).loss_floor().value()));
}

// The leak it is there for: without the causal mask the answer stands in the next row, and the
// loss falls through the floor. With it, it does not.
TEST(LossFloor, CatchesAModelThatSeesTheFuture) {
  const double floor = Progressions(0, 6).loss_floor().value();
  EXPECT_TRUE(passes_floor(loss_after(Arch::kEncoder, 300), floor));
  EXPECT_FALSE(passes_floor(loss_after(Arch::kDecoder, 300), floor));
}

}  // namespace
}  // namespace attn
