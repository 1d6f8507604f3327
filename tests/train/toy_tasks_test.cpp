// The toy tasks, trained for some seconds: each is learned, and is not where the one switch that it
// is for is wrong. The full runs (several seeds, to the accuracy wanted) are longer.

#include "train/toy_tasks.h"

#include <gtest/gtest.h>

#include "train/trainer.h"

namespace attn {
namespace {

struct Lesson {
  TaskSettings task;
  Index steps = 100;
  Index batch = 64;
  double lr = 3e-3;
  Index dim = 32;
  Index depth = 2;
  Position position = Position::kSinusoidal;
};

Evaluation trained(const Lesson& lesson) {
  const Task task = make_task(lesson.task);
  ModelConfig config;
  config.arch = task.arch;
  config.vocab_size = task.data->vocab_size();
  config.source_vocab_size = task.data->source_vocab_size();
  config.dim = lesson.dim;
  config.depth = lesson.depth;
  if (task.arch == Arch::kEncoderDecoder) config.encoder_depth = lesson.depth;
  config.position = lesson.position;
  Transformer<float> model(config);
  model.params().initialise(0);
  TrainerSettings settings;
  settings.adamw.lr = lesson.lr;
  settings.batch = lesson.batch;
  settings.steps = lesson.steps;
  Trainer<float> trainer(model, *task.data, settings);
  for (Index step = 0; step < lesson.steps; ++step) trainer.step();
  return trainer.evaluate();
}

TaskSettings named(const char* name) {
  TaskSettings settings;
  settings.name = name;
  return settings;
}

TEST(ToyTasks, SortIsLearnedWithoutAQuarterOfTheStrings) {
  Lesson lesson{.task = named("sort")};
  lesson.steps = 250;
  lesson.dim = 64;
  EXPECT_EQ(trained(lesson).exact, 1.0) << "of all 729, 1 in 4 never seen";
}

// Up to 5 symbols. Without positions a set of symbols is all there is to see.
TEST(ToyTasks, ReverseNeedsPositions) {
  Lesson lesson{.task = named("reverse")};
  lesson.task.seq_len = 5;
  lesson.steps = 300;
  EXPECT_GT(trained(lesson).exact, 0.95);
  lesson.position = Position::kNone;
  EXPECT_LT(trained(lesson).exact, 0.7) << "strings of 1 symbol, and of equal ones, remain";
}

// What stands behind a hidden token tells as much as what stands before it.
TEST(ToyTasks, MaskedNeedsBothSides) {
  Lesson lesson{.task = named("masked")};
  lesson.steps = 400;
  lesson.task.modulus = 5;
  const double both = trained(lesson).accuracy;
  EXPECT_GT(both, 0.9);
  lesson.task.arch = Arch::kDecoder;
  EXPECT_LT(trained(lesson).accuracy, both - 0.05);
}

// Finding what followed the last occurrence takes two layers: one to say at each token what stood
// before it, one to look for that.
TEST(ToyTasks, InductionNeedsTwoLayers) {
  Lesson lesson{.task = named("induction")};
  lesson.steps = 300;
  lesson.dim = 64;
  EXPECT_GT(trained(lesson).accuracy, 0.95);
  lesson.depth = 1;  // it stands at 0.2 for long
  lesson.steps = 100;
  EXPECT_LT(trained(lesson).accuracy, 0.6);
}

}  // namespace
}  // namespace attn
