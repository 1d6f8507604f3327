#include "train/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "core/error.h"
#include "model/checkpoint.h"
#include "text/id_tokenizer.h"
#include "train/progressions.h"

namespace attn {
namespace {

// The whole file after 50 updates: parameters, moments, losses, evaluations.
std::vector<std::byte> trained_file(int threads) {
  const Progressions data(4);
  Transformer<float> model{ModelConfig()};
  model.params().initialise(4);
  TrainerSettings settings;
  settings.adamw.lr = 3e-3;
  settings.threads = threads;
  Trainer<float> trainer(model, data, settings);
  for (int step = 0; step < 50; ++step) {
    EXPECT_TRUE(trainer.step().finite());
    if (step % 20 == 0) trainer.evaluate();
  }
  const IdTokenizer tokenizer(data.vocab_size());
  Hdf5Writer writer;
  write_checkpoint(writer, model, &tokenizer, &trainer.state());
  const Hdf5Image image = writer.finish();
  return {image.bytes().begin(), image.bytes().end()};
}

TEST(Trainer, ThreadsChangeNoByteOfTheCheckpoint) {
  const std::vector<std::byte> expected = trained_file(1);
  for (const int threads : {2, 3, 8}) {
    EXPECT_TRUE(trained_file(threads) == expected) << threads << " threads";
  }
}

ModelConfig tiny() {
  ModelConfig config;
  config.dim = 16;
  config.heads = 2;
  config.mlp_hidden = 16;
  config.depth = 1;
  return config.completed();
}

// The chunks of a step are summed as one batch: the mean over all targets, not a mean of means.
TEST(BatchGradient, ChunksAreOneBatch) {
  const ModelConfig config = tiny();
  Transformer<double> model(config);
  model.params().initialise(1);
  const Index chunk = chunk_sequences(config, 12);
  Batch batch = Progressions(1).training_batch(0, 2 * chunk + 3);
  // The last, short chunk counts few targets.
  for (std::size_t i = batch.targets.size() - 30; i < batch.targets.size(); ++i) {
    batch.targets[i] = kIgnoreIndex;
  }
  const auto size = static_cast<std::size_t>(model.params().size());
  std::vector<double> gradients(size);
  BatchGradient<double> gradient(model, 1);
  const double loss = gradient.compute(batch, gradients.data());

  Workspace work;
  TransformerTape<double> tape;
  TokenInput input;
  input.ids = batch.ids;
  input.rows = {batch.batch, batch.seq_len, nullptr};
  const Matrix<double> logits = model.forward(model.pass(work), input, nullptr, &tape);
  CrossEntropy whole = cross_entropy<double>(logits, batch.targets, 1.0, logits);
  const auto counted = static_cast<double>(whole.counted);
  std::vector<double> sums(size, 0.0);
  model.backward({model.params().values(), sums.data(), work.arena()}, tape, logits);
  EXPECT_NEAR(loss, whole.loss_sum / counted, 1e-12);
  for (std::size_t i = 0; i < size; ++i) ASSERT_NEAR(gradients[i], sums[i] / counted, 1e-12);
  EXPECT_NEAR(gradient.evaluate(batch).loss, loss, 1e-12);
}

// A worker that fails must not leave the others waiting for its turn.
TEST(BatchGradient, AFailureEndsAllWorkers) {
  Transformer<float> model(tiny());
  Batch batch = Progressions(1).training_batch(0, 500);
  batch.ids[0] = 99;
  std::vector<float> gradients(static_cast<std::size_t>(model.params().size()));
  BatchGradient<float> gradient(model, 3);
  EXPECT_THROW(gradient.compute(batch, gradients.data()), ShapeError);
  batch.ids[0] = 1;
  EXPECT_NO_THROW(gradient.compute(batch, gradients.data()));
}

TEST(Trainer, AStepThatIsNotFiniteUpdatesNothing) {
  Transformer<float> model(tiny());
  model.params().initialise(1);
  const Progressions data(1);
  Trainer<float> trainer(model, data, {});
  ASSERT_TRUE(trainer.step().finite());
  const ParamInfo* bias = model.params().find("head.bias");
  model.params().values()[bias->place.offset] = std::numeric_limits<float>::infinity();
  const std::vector<float> before(model.params().values(),
                                  model.params().values() + bias->place.offset);
  const StepReport report = trainer.step();
  EXPECT_FALSE(report.finite());
  EXPECT_EQ(report.step, 1);
  EXPECT_EQ(trainer.state().step, 1);
  EXPECT_EQ(trainer.state().losses.size(), 1U);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), model.params().values()));
}

TEST(Trainer, GoesOnWhereAStateEnded) {
  const auto start = [](Transformer<float>& model) { model.params().initialise(2); };
  const Progressions data(2);
  Transformer<float> straight(tiny());
  start(straight);
  Trainer<float> whole(straight, data, {});
  for (int i = 0; i < 6; ++i) whole.step();

  Transformer<float> halves(tiny());
  start(halves);
  Trainer<float> first(halves, data, {});
  for (int i = 0; i < 3; ++i) first.step();
  Trainer<float> second(halves, data, {}, first.state());
  for (int i = 0; i < 3; ++i) second.step();
  EXPECT_TRUE(std::equal(straight.params().values(),
                         straight.params().values() + straight.params().size(),
                         halves.params().values()));
  EXPECT_EQ(second.state().losses, whole.state().losses);
}

TEST(Trainer, RefusesSettingsAndDataThatDoNotFit) {
  Transformer<float> model(tiny());
  const Progressions data(1);
  const auto refused = [&](const std::function<void(TrainerSettings&)>& change) {
    TrainerSettings settings;
    change(settings);
    EXPECT_THROW(Trainer<float>(model, data, settings), UsageError);
  };
  refused([](TrainerSettings& s) { s.batch = 0; });
  refused([](TrainerSettings& s) { s.adamw.lr = -1; });
  refused([](TrainerSettings& s) { s.adamw.beta1 = 1; });
  refused([](TrainerSettings& s) { s.adamw.eps = std::nan(""); });
  const Progressions wide(1, 12, 11);
  EXPECT_THROW(Trainer<float>(model, wide, {}), UsageError) << "11 tokens of 10";
}

// Backward, chunks and AdamW together: one batch is learned by heart.
TEST(Trainer, OverfitsOneBatch) {
  class OneBatch : public Progressions {
   public:
    OneBatch() : Progressions(3) {}
    Batch training_batch(Index, Index batch) const override {
      return Progressions::training_batch(0, batch);
    }
  };
  ModelConfig config = tiny();
  config.dim = 32;
  config.mlp_hidden = 64;
  Transformer<float> model(config.completed());
  model.params().initialise(3);
  const OneBatch data;
  TrainerSettings settings;
  settings.batch = 8;
  settings.adamw.lr = 1e-2;
  Trainer<float> trainer(model, data, settings);
  double loss = 0;
  for (int i = 0; i < 300; ++i) loss = trainer.step().loss;
  // Eight sequences start with some of the same tokens, whose second token stays a guess.
  EXPECT_LT(loss, 0.1);
}

}  // namespace
}  // namespace attn
