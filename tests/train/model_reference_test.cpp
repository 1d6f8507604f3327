#include <fmt/core.h>
#include <gtest/gtest.h>

#include "model/checkpoint.h"
#include "model/decoding.h"
#include "support/model_inputs.h"
#include "support/truth.h"
#include "train/trainer.h"

// What training makes of whole models, of one stack or two, padded or not, clipped and scheduled or
// not, against PyTorch in float and in double: loss and every gradient by chunks and threads, the
// losses, norms and rates of ten updates, and the parameters after 1, 2 and 10. (Logits, weights
// and hidden states are held in tests/model.)

namespace attn {
namespace {

using testing::ModelInputs;
using testing::Reference;

Batch batch_of(const ModelInputs& inputs) {
  Batch batch;
  batch.batch = inputs.batch;
  batch.seq_len = inputs.seq_len;
  batch.ids = inputs.ids;
  batch.targets = inputs.targets;
  batch.key_mask = inputs.mask;
  batch.source_len = inputs.source_len;
  batch.source = inputs.source;
  batch.source_mask = inputs.source_mask;
  return batch;
}

// The batch of each update, as a data source, so that the Trainer itself is what is tested.
class StoredBatches : public DataSource {
 public:
  StoredBatches(const Reference& file, const ModelConfig& config)
      : config_(config), first_(batch_of(testing::model_inputs(file).front())) {
    for (const ModelInputs& inputs : testing::model_inputs(file, "/input/steps")) {
      steps_.push_back(batch_of(inputs));
    }
  }

  Index vocab_size() const override { return config_.vocab_size; }
  Index source_vocab_size() const override { return config_.source_vocab_size; }
  Index seq_len() const override { return first_.seq_len; }
  Index source_len() const override { return first_.source_len; }
  Index steps() const { return static_cast<Index>(steps_.size()); }
  Batch training_batch(Index step, Index) const override {
    return steps_.at(static_cast<std::size_t>(step));
  }
  const Batch& evaluation_batch() const override { return first_; }

 private:
  ModelConfig config_;
  Batch first_;
  std::vector<Batch> steps_;
};

template <class T>
void expect_loss_and_gradients(const Reference& file, const Transformer<T>& model) {
  constexpr bool kFloat = std::is_same_v<T, float>;
  const Batch batch = batch_of(testing::model_inputs(file).front());
  BatchGradient<T> gradient(model, 2);
  std::vector<T> found(static_cast<std::size_t>(model.params().size()));
  const double loss = gradient.compute(batch, found.data());
  file.expect_near("/expected/loss", loss, kFloat);
  file.expect_near("/expected/loss", gradient.evaluate(batch).loss, kFloat);
  testing::expect_parameters(file, "/expected/gradients", model.params(), found.data());
}

TrainerSettings settings_of(const Reference& file, const StoredBatches& data) {
  const std::string group = "/input/steps";
  TrainerSettings settings;
  settings.adamw.lr = file.real("lr", group);
  settings.adamw.beta1 = file.real("beta1", group);
  settings.adamw.beta2 = file.real("beta2", group);
  settings.adamw.eps = file.real("eps", group);
  settings.adamw.weight_decay = file.real("weight_decay", group);
  const auto kind = parse_enum<ScheduleKind>(file.text("schedule", group));
  EXPECT_TRUE(kind.has_value()) << file.text("schedule", group);
  settings.schedule = kind.value_or(ScheduleKind::kConstant);
  // The reference's constant rate has neither a floor nor a warm-up.
  if (settings.schedule != ScheduleKind::kConstant) {
    settings.min_lr = file.real("min_lr", group);
    settings.warmup = file.count("warmup_steps", group);
  }
  settings.steps = file.count("total_steps", group);
  settings.clip = file.real("clip_norm", group);
  settings.batch = data.evaluation_batch().batch;
  settings.threads = 2;
  return settings;
}

template <class T>
void expect_updates(const Reference& file, Transformer<T>& model) {
  constexpr bool kFloat = std::is_same_v<T, float>;
  if (!file.has("/input/steps")) return;
  const StoredBatches data(file, model.config());
  Trainer<T> trainer(model, data, settings_of(file, data));
  std::vector<T> losses, norms, rates;
  for (Index step = 1; step <= data.steps(); ++step) {
    const StepReport report = trainer.step();
    ASSERT_TRUE(report.finite());
    losses.push_back(static_cast<T>(report.loss));
    norms.push_back(static_cast<T>(report.gradient_norm));
    rates.push_back(static_cast<T>(report.lr));
    const std::string after = "/expected/after_" + std::to_string(step);
    if (!file.has(after)) continue;
    file.expect_near(after + "/loss", trainer.evaluate().loss, kFloat);
    testing::expect_parameters(file, after + "/parameters", model.params(),
                               model.params().values());
  }
  file.expect_near("/expected/learning_rates", rates);
  file.expect_near("/expected/step_losses", losses);
  file.expect_near("/expected/gradient_norms", norms);
}

// Of trained_gpt.
template <class T>
void expect_continuations(const Reference& file, const Transformer<T>& model) {
  if (!file.has("/expected/tokens") || !file.has("/input/prompts")) return;
  const Tensor<Index> prompts = file.reader().read<Index>("/input/prompts");
  const Tensor<Index> tokens = file.reader().read<Index>("/expected/tokens");
  for (Index row = 0; row < prompts.dim(0); ++row) {
    const Index* prompt = prompts.matrix().row(row);
    const std::vector<Index> wanted(tokens.matrix().row(row),
                                    tokens.matrix().row(row) + tokens.dim(1));
    for (const bool use_cache : {true, false}) {
      GenerationSettings settings;
      settings.new_tokens = tokens.dim(1);
      settings.use_cache = use_cache;
      const std::span<const Index> start(prompt, static_cast<std::size_t>(prompts.dim(1)));
      EXPECT_EQ(generate<T>(model, start, settings).tokens, wanted)
          << "prompt " << prompt[0] << ' ' << prompt[1] << (use_cache ? " cached" : " uncached");
    }
  }
}

template <class T>
void hold_every_file() {
  testing::hold_model_files([](const Reference& file) {
    const auto model = read_model<T>(file.reader());
    expect_loss_and_gradients<T>(file, *model);
    expect_continuations<T>(file, *model);
    expect_updates<T>(file, *model);
  });
}

TEST(ReferenceModels, TrainInFloat) {
  hold_every_file<float>();
}

TEST(ReferenceModels, TrainInDouble) {
  hold_every_file<double>();
}

}  // namespace
}  // namespace attn
