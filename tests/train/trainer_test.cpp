#include "train/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "core/error.h"
#include "model/checkpoint.h"
#include "ops/vector.h"
#include "text/id_tokenizer.h"
#include "train/progressions.h"
#include "train_helpers.h"

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
  EXPECT_FALSE(trainer.fault().has_value());
  const ParamInfo* bias = model.params().find("head.bias");
  model.params().values()[bias->place.offset] = std::numeric_limits<float>::infinity();
  const std::vector<float> before(model.params().values(),
                                  model.params().values() + bias->place.offset);
  const StepReport report = trainer.step();
  ASSERT_FALSE(report.finite());
  EXPECT_EQ(report.fault->what, Fault::What::kLoss);
  EXPECT_EQ(report.fault->text(), "the loss and the value of head.bias are not finite");
  EXPECT_EQ(report.step, 1);
  EXPECT_EQ(trainer.state().step, 1);
  EXPECT_EQ(trainer.state().losses.size(), 1U);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), model.params().values()));
  EXPECT_EQ(trainer.fault().value().text(), "the value of head.bias is not finite");
}

// Rows of zeros under a norm whose eps is nothing: the forward pass sees zeros, backward divides
// by 1e-19 in each of five norms and leaves what a float can hold.
TEST(Trainer, NamesTheParameterWhoseGradientIsNotFinite) {
  ModelConfig config = tiny();
  config.depth = 2;
  config.norm_eps = 1e-38;
  config.position = Position::kNone;
  Transformer<float> model(config);
  model.params().initialise(1);
  for (const ParamInfo& info : model.params().list()) {
    if (info.name != "tokens.weight" && !info.name.ends_with(".bias")) continue;
    std::fill_n(model.params().values() + info.place.offset, info.place.size(), 0.0F);
  }
  const Progressions data(1);
  Trainer<float> trainer(model, data, {});
  const StepReport report = trainer.step();
  EXPECT_TRUE(std::isfinite(report.loss));
  ASSERT_FALSE(report.finite());
  EXPECT_EQ(report.fault->text(), "the gradient of tokens.weight is not finite");
  EXPECT_EQ(trainer.state().step, 0);
}

TEST(Trainer, NamesTheParameterWhoseMomentIsNotFinite) {
  Transformer<float> model(tiny());
  model.params().initialise(1);
  const Progressions data(1);
  Trainer<float> trainer(model, data, {});
  const ParamInfo* norm = model.params().find("norm.weight");
  trainer.state().v[static_cast<std::size_t>(norm->place.offset) + 1] =
      std::numeric_limits<float>::infinity();
  EXPECT_EQ(trainer.fault().value().text(), "a moment of norm.weight is not finite");
}

std::vector<float> values_of(const Transformer<float>& model) {
  return {model.params().values(), model.params().values() + model.params().size()};
}

struct Trained {
  std::vector<float> values;
  TrainingState<float> state;
};

Trained trained(const TrainerSettings& settings, int steps = 5) {
  Transformer<float> model(tiny());
  model.params().initialise(3);
  const Progressions data(3);
  Trainer<float> trainer(model, data, settings);
  for (int step = 0; step < steps; ++step) EXPECT_TRUE(trainer.step().finite());
  return {values_of(model), trainer.state()};
}

TEST(Trainer, AccumulationIsTheLargerBatch) {
  TrainerSettings settings;
  settings.dropout = 0.1;
  settings.clip = 0.5;
  const Trained whole = trained(settings);
  settings.batch = 32;
  settings.accumulate = 4;
  settings.threads = 2;
  const Trained parts = trained(settings);
  EXPECT_EQ(parts.values, whole.values);
  EXPECT_EQ(parts.state.losses, whole.state.losses);
  EXPECT_EQ(parts.state.v, whole.state.v);
  settings.accumulate = 3;
  EXPECT_NE(trained(settings).values, whole.values);
}

TEST(Trainer, DropoutFollowsItsSeedAndTheStep) {
  TrainerSettings settings;
  const Trained none = trained(settings);
  settings.dropout = 0.3;
  settings.seed = 1;
  const Trained one = trained(settings);
  settings.seed = 2;
  EXPECT_NE(one.values, none.values);
  EXPECT_NE(trained(settings).values, one.values);

  // A rate of nothing: the loss of the same batch changes by dropout alone.
  class OneBatch : public Progressions {
   public:
    OneBatch() : Progressions(3) {}
    Batch training_batch(Index, Index batch) const override {
      return Progressions::training_batch(0, batch);
    }
  };
  Transformer<float> model(tiny());
  model.params().initialise(3);
  settings.adamw.lr = 0;
  const OneBatch data;
  Trainer<float> trainer(model, data, settings);
  const double first = trainer.step().loss;
  EXPECT_NE(trainer.step().loss, first) << "each update draws its own masks";
}

// As torch.nn.utils.clip_grad_norm_: all times min(1, clip / (norm + 1e-6)). AdamW's first moment
// after one update is (1 - beta1) times that gradient.
TEST(Trainer, ClipsToTheGlobalNorm) {
  TrainerSettings settings;
  const Trained free = trained(settings, 1);
  const auto norm_of = [](const std::vector<float>& m) {
    return std::sqrt(sum_of_squares<float>(m.data(), static_cast<Index>(m.size()))) / 0.1;
  };
  const double norm = norm_of(free.state.m);
  settings.clip = norm / 4;
  settings.log_gradients = true;
  const Trained clipped = trained(settings, 1);
  EXPECT_NEAR(norm_of(clipped.state.m), norm / 4, 1e-5 * norm);
  // What is logged is from before it.
  double squares = 0;
  for (const double each : clipped.state.gradient_log.norms) squares += each * each;
  EXPECT_NEAR(std::sqrt(squares), norm, 1e-5 * norm);
  settings.clip = norm * 1.1;
  EXPECT_EQ(trained(settings, 1).values, free.values) << "nothing to clip";
}

TEST(Trainer, LogsTheNormOfEachParametersGradient) {
  TrainerSettings settings;
  EXPECT_TRUE(trained(settings).state.gradient_log.updates.empty());
  settings.log_gradients = true;
  const Trained logged = trained(settings, 2);
  const GradientLog& log = logged.state.gradient_log;
  EXPECT_EQ(log.updates, (std::vector<Index>{1, 2}));
  const auto layout = parameter_layout(tiny());
  ASSERT_EQ(log.norms.size(), 2 * layout.size());

  // The first update's, from the gradient itself.
  Transformer<float> model(tiny());
  model.params().initialise(3);
  std::vector<float> gradients(static_cast<std::size_t>(model.params().size()));
  BatchGradient<float> gradient(model, 1);
  gradient.compute(Progressions(3).training_batch(0, 128), gradients.data());
  for (std::size_t i = 0; i < layout.size(); ++i) {
    const Param& place = layout[i].place;
    EXPECT_EQ(log.norms[i],
              std::sqrt(sum_of_squares<float>(gradients.data() + place.offset, place.size())))
        << layout[i].name;
  }
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
  refused([](TrainerSettings& s) { s.accumulate = 0; });
  refused([](TrainerSettings& s) { s.steps = Index{1} << 32; });
  refused([](TrainerSettings& s) { s.batch = s.accumulate = Index{1} << 32; });
  refused([](TrainerSettings& s) { s.min_lr = 1; });
  refused([](TrainerSettings& s) { s.warmup = -1; });
  refused([](TrainerSettings& s) { s.clip = -1; });
  refused([](TrainerSettings& s) { s.dropout = 1; });
  refused([](TrainerSettings& s) { s.label_smoothing = 1; });
  const Progressions wide(1, 12, 11);
  EXPECT_THROW(Trainer<float>(model, wide, {}), UsageError) << "11 tokens of 10";
  ModelConfig two_stacks = tiny();
  two_stacks.arch = Arch::kEncoderDecoder;
  two_stacks.source_vocab_size = 10;
  two_stacks.encoder_depth = 1;
  Transformer<float> reader(two_stacks);
  EXPECT_THROW(Trainer<float>(reader, data, {}), UsageError) << "data without a source";
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
