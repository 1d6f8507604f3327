#include <utility>

#include "bench/stopwatch.h"
#include "core/error.h"
#include "core/rng.h"
#include "model/transformer.h"
#include "train/progressions.h"
#include "train/trainer.h"
#include "workload.h"

namespace attn {
namespace {

// Tokens drawn evenly; every one but the first is a target.
class RandomTokens : public DataSource {
 public:
  RandomTokens(Index vocab, Index seq_len) : vocab_(vocab), seq_len_(seq_len) {}

  Index vocab_size() const override { return vocab_; }
  Index seq_len() const override { return seq_len_; }
  Batch training_batch(Index step, Index batch) const override {
    Rng rng(1, RandomPurpose::kBenchmark, static_cast<std::uint32_t>(step));
    Batch made;
    made.batch = batch;
    made.seq_len = seq_len_;
    for (Index i = 0; i < batch * seq_len_; ++i) {
      made.ids.push_back(rng.below(vocab_));
      made.targets.push_back(rng.below(vocab_));
    }
    return made;
  }
  const Batch& evaluation_batch() const override { return none_; }

 private:
  Index vocab_, seq_len_;
  Batch none_;
};

std::unique_ptr<DataSource> data_of(const std::string& task, Index vocab, Index seq_len) {
  if (task == "progressions") return std::make_unique<Progressions>(1, seq_len, vocab);
  if (task == "random") return std::make_unique<RandomTokens>(vocab, seq_len);
  throw UsageError("task is progressions or random: " + task);
}

class Training : public Workload {
 public:
  Training(const ModelConfig& config, std::unique_ptr<DataSource> data,
           const TrainerSettings& settings)
      : model_(config), data_(std::move(data)) {
    model_.params().initialise(1);
    trainer_.emplace(model_, *data_, settings);
  }

  Seconds sample() override {
    const Stopwatch watch;
    const StepReport report = trainer_->step();
    const auto nanoseconds = static_cast<double>(watch.elapsed().wall_ns);
    require_shape(report.finite(), "training: diverged");
    return {{"step", nanoseconds * 1e-9}};
  }

 private:
  Transformer<float> model_;
  std::unique_ptr<DataSource> data_;
  std::optional<Trainer<float>> trainer_;
};

}  // namespace

std::unique_ptr<Workload> training_workload(Settings& settings) {
  ModelConfig config;
  config.vocab_size = settings.number("vocab", 10);
  config.dim = settings.number("dim", 64);
  config.heads = settings.number("heads", 4);
  config.depth = settings.number("depth", 2);
  TrainerSettings trainer;
  trainer.adamw.lr = 1e-4;
  trainer.batch = settings.number("batch", 128);
  trainer.threads = static_cast<int>(settings.number("threads", 1));
  trainer.steps = Index{1} << 30;
  const Index seq_len = settings.number("seq_len", 12);
  return std::make_unique<Training>(
      config, data_of(settings.text("task", "progressions"), config.vocab_size, seq_len), trainer);
}

}  // namespace attn
