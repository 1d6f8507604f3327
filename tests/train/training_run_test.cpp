#include "train/training_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/error.h"
#include "model/checkpoint.h"
#include "train/progressions.h"
#include "train/task.h"
#include "train/training_settings.h"
#include "train_helpers.h"

// A run that is stopped anywhere and goes on from its file must leave the bytes of one that was not
// stopped: for every task, in every arrangement that can learn it.

namespace attn {
namespace {

using Bytes = std::vector<std::byte>;

// What a run is: a task, and everything on that could be forgotten on the way through a file.
struct Subject {
  std::string name;
  std::function<Task()> make;
  std::function<void(TrainingSettings&)> change = [](TrainingSettings&) {};
};

TrainingSettings settings_of(const Subject& subject, const Task& task) {
  TrainingSettings settings;
  settings.task = task.name;
  settings.task_settings = task.settings;
  settings.data_digest = task.data_digest;
  settings.trainer.adamw.lr = 5e-3;
  settings.trainer.schedule = ScheduleKind::kCosine;
  settings.trainer.warmup = 3;
  settings.trainer.steps = 13;
  settings.trainer.decay = DecayScope::kMatrices;
  settings.trainer.clip = 0.7;
  settings.trainer.dropout = 0.15;
  settings.trainer.label_smoothing = 0.05;
  settings.trainer.batch = 4;
  settings.trainer.accumulate = 2;
  settings.trainer.seed = 6;
  settings.trainer.log_gradients = true;
  settings.eval_every = 4;
  settings.patience = 3;
  subject.change(settings);
  return settings;
}

ModelConfig config_of(const Task& task) {
  ModelConfig config;
  config.arch = task.arch;
  config.vocab_size = task.data->vocab_size();
  config.source_vocab_size = task.data->source_vocab_size();
  config.dim = 8;
  config.heads = 2;
  config.mlp_hidden = 8;
  config.depth = 1;
  config.encoder_depth = task.arch == Arch::kEncoderDecoder ? 1 : 0;
  return config;
}

Bytes bytes_of(const Transformer<float>& model, const TrainingState<float>& state) {
  Hdf5Writer writer;
  write_checkpoint(writer, model, nullptr, &state);
  const Hdf5Image image = writer.finish();
  return {image.bytes().begin(), image.bytes().end()};
}

// What a disk and a log would hold.
class Record : public RunObserver {
 public:
  Bytes last, best;
  std::vector<EvaluationPoint> evaluations;
  std::vector<Bytes> saves;
  std::function<bool(const Record&)> stop = [](const Record&) { return false; };
  Index updates = 0;

  void watch(const Trainer<float>& trainer) { trainer_ = &trainer; }
  void on_step(const StepReport&) override { ++updates; }
  void on_evaluation(const EvaluationPoint& point, bool) override { evaluations.push_back(point); }
  void save() override { saves.push_back(last = bytes_of(trainer_->model(), trainer_->state())); }
  void save_best() override { best = bytes_of(trainer_->model(), trainer_->state()); }
  bool stop_requested() override { return stop(*this); }

 private:
  const Trainer<float>* trainer_ = nullptr;
};

// From the beginning, or from the record's last file, to the end of this part.
RunOutcome go_on(const Subject& subject, Record& record, int threads,
                 std::optional<Index> stop_after = std::nullopt) {
  const Task task = subject.make();
  TrainingSettings settings = settings_of(subject, task);
  std::unique_ptr<Transformer<float>> model;
  TrainingState<float> state;
  if (record.last.empty()) {
    model = std::make_unique<Transformer<float>>(config_of(task));
    model->params().initialise(settings.trainer.seed);
    state.settings = to_list(settings);
  } else {
    Checkpoint read = read_checkpoint(Hdf5Reader::from_bytes(record.last, "last.h5"));
    const TrainingSettings was = from_list(read.training->settings, "last.h5");
    EXPECT_TRUE(changes(was, settings).empty());
    settings = was;
    model = std::move(read.model);
    state = std::move(*read.training);
  }
  settings.trainer.threads = threads;
  RunSettings run;
  run.eval_every = settings.eval_every;
  run.patience = settings.patience;
  run.save_every = 3;
  run.stop_after = stop_after;
  Trainer<float> trainer(*model, *task.data, settings.trainer, std::move(state));
  record.watch(trainer);
  return run_training(trainer, run, record).outcome;
}

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const std::string& name : task_names()) {
    for (const Arch arch : task_archs(name)) {
      all.push_back({name + " " + enum_name(arch), [name, arch] {
                       TaskSettings settings;
                       settings.name = name;
                       settings.arch = arch;
                       settings.seed = 6;
                       // The least that an induction's repeat needs is 16.
                       settings.seq_len = name == "induction" ? 16 : 6;
                       return make_task(settings);
                     }});
    }
  }
  all.push_back({"text", [] {
                   std::string text;
                   for (int i = 0; i < 60; ++i) text += std::to_string(i * i) + " and ";
                   TaskSettings settings;
                   settings.seq_len = 6;
                   settings.eval_windows = 9;
                   settings.seed = 6;
                   return text_task(text, settings);
                 }});
  all.push_back({"without improvement",
                 [] {
                   TaskSettings settings;
                   settings.seq_len = settings.seed = 6;
                   return make_task(settings);
                 },
                 [](TrainingSettings& settings) {
                   settings.trainer.adamw.lr = 0;
                   settings.trainer.steps = 40;
                   settings.patience = 2;
                 }});
  return all;
}

void expect_same(const Record& found, const Record& straight, const std::string& what) {
  EXPECT_TRUE(found.last == straight.last) << what << ": another checkpoint";
  EXPECT_TRUE(found.best == straight.best) << what << ": another best";
  EXPECT_EQ(found.evaluations, straight.evaluations) << what;
  EXPECT_EQ(found.updates, straight.updates) << what;
}

// Stops fall on evaluations (4, 8, 12), on saves (3, 6 ...), on neither, before the first update,
// before and after the last, and after an early stop.
TEST(TrainingRun, StoppedAnywhereItLeavesTheSameBytes) {
  for (const Subject& subject : subjects()) {
    SCOPED_TRACE(subject.name);
    Record straight;
    const RunOutcome outcome = go_on(subject, straight, 1);
    EXPECT_NE(outcome, RunOutcome::kDiverged);
    int threads = 1;
    for (const Index stop : {0, 1, 3, 4, 7, 8, 12, 13, 20}) {
      threads = threads % 3 + 1;
      Record halves;
      const RunOutcome first = go_on(subject, halves, threads, stop);
      EXPECT_EQ(first == RunOutcome::kStopped, stop < straight.updates) << stop;
      EXPECT_EQ(go_on(subject, halves, threads % 3 + 1), outcome);
      expect_same(halves, straight, "stopped at " + std::to_string(stop));
    }
  }
}

TEST(TrainingRun, StoppedAfterEachUpdateItLeavesTheSameBytes) {
  const Subject subject = subjects().front();
  Record straight, pieces;
  go_on(subject, straight, 2);
  for (Index done = 1; go_on(subject, pieces, 1, done) == RunOutcome::kStopped; ++done) {
  }
  expect_same(pieces, straight, "in pieces");
}

TEST(TrainingRun, ARequestEndsItAfterTheUpdate) {
  const Subject subject = subjects().front();
  Record straight, asked;
  go_on(subject, straight, 1);
  asked.stop = [](const Record& record) { return record.updates == 5; };
  EXPECT_EQ(go_on(subject, asked, 1), RunOutcome::kStopped);
  EXPECT_EQ(asked.updates, 5);
  asked.stop = [](const Record&) { return false; };
  EXPECT_EQ(go_on(subject, asked, 2), RunOutcome::kFinished);
  expect_same(asked, straight, "asked to stop");
}

// Killed, a run leaves its last save, whatever it did after it.
TEST(TrainingRun, EverySaveLeadsToTheSameBytes) {
  const Subject subject = subjects().front();
  Record straight;
  go_on(subject, straight, 1);
  ASSERT_EQ(straight.saves.size(), 5U) << "after 3, 6, 9, 12 and 13";
  for (const Bytes& save : straight.saves) {
    Record again;
    again.last = save;
    again.best = straight.best;
    go_on(subject, again, 3);
    EXPECT_TRUE(again.last == straight.last);
    EXPECT_TRUE(again.best == straight.best);
  }
}

TEST(TrainingRun, EvaluatesBeforeDuringAndAfter) {
  Record record;
  Subject subject = subjects().front();
  subject.change = [](TrainingSettings& settings) { settings.patience = 0; };
  EXPECT_EQ(go_on(subject, record, 1), RunOutcome::kFinished);
  std::vector<Index> steps;
  for (const EvaluationPoint& point : record.evaluations) steps.push_back(point.step);
  EXPECT_EQ(steps, (std::vector<Index>{0, 4, 8, 12, 13}));
}

TEST(TrainingRun, StopsEarlyWithoutImprovement) {
  Record record;
  EXPECT_EQ(go_on(subjects().back(), record, 1), RunOutcome::kEarlyStopped);
  EXPECT_EQ(record.updates, 8) << "two evaluations, after 4 and 8, no better than the first";
  EXPECT_EQ(record.evaluations.size(), 3U);
}

struct Parts {
  Transformer<float> model{tiny(8, 32)};
  Progressions data{1, 6};
  TrainerSettings settings;
  Parts() {
    model.params().initialise(1);
    settings.batch = 4;
    settings.steps = 4;
  }
};

TEST(TrainingRun, DivergesWithoutASave) {
  Parts parts;
  parts.settings.adamw.lr = 1e30;
  Trainer<float> trainer(parts.model, parts.data, parts.settings);
  Record record;
  record.watch(trainer);
  RunSettings run;
  run.eval_every = 10;
  run.save_every = 1;
  const RunEnd end = run_training(trainer, run, record);
  EXPECT_EQ(end.outcome, RunOutcome::kDiverged);
  ASSERT_TRUE(end.fault.has_value());
  EXPECT_FALSE(end.last.finite());
  for (const Bytes& save : record.saves) {
    EXPECT_NO_THROW(read_checkpoint(Hdf5Reader::from_bytes(save, "saved.h5")));
  }
}

// The loss of the evaluation after the last update decides too.
TEST(TrainingRun, SavesNothingThatIsNotFinite) {
  class Breaking : public Record {
   public:
    explicit Breaking(Transformer<float>& model) : model_(model) {}
    void on_step(const StepReport& report) override {
      const Index place = model_.params().find("head.bias")->place.offset;
      if (report.step == 3) model_.params().values()[place] = std::nanf("");
    }

   private:
    Transformer<float>& model_;
  };
  for (const Index save_every : {1, 0}) {
    Parts parts;
    parts.settings.steps = 3;
    Trainer<float> trainer(parts.model, parts.data, parts.settings);
    Breaking record(parts.model);
    record.watch(trainer);
    RunSettings run;
    run.eval_every = 10;
    run.save_every = save_every;
    const RunEnd end = run_training(trainer, run, record);
    EXPECT_EQ(end.outcome, RunOutcome::kDiverged);
    EXPECT_EQ(end.fault.value().text(), "the value of head.bias is not finite");
    EXPECT_EQ(record.saves.size(), save_every == 1 ? 2U : 0U);
  }
}

TEST(TrainingRun, WarnsOfAStartFarFromUniform) {
  class Warned : public RunObserver {
   public:
    std::optional<double> loss;
    void on_unusual_start(double found, double uniform) override {
      loss = found;
      EXPECT_DOUBLE_EQ(uniform, std::log(10.0));
    }
  };
  for (const float bias : {0.0F, 9.0F}) {
    Parts parts;
    parts.model.params().values()[parts.model.params().find("head.bias")->place.offset] = bias;
    Trainer<float> trainer(parts.model, parts.data, parts.settings);
    Warned warned;
    run_training(trainer, {}, warned);
    EXPECT_EQ(warned.loss.has_value(), bias > 0);
  }
  EXPECT_FALSE(far_from_uniform(std::log(65.0) + 0.4, 65));
  EXPECT_TRUE(far_from_uniform(std::log(65.0) - 0.6, 65));
  EXPECT_TRUE(far_from_uniform(std::nan(""), 65));
}

TEST(TrainingRun, RefusesSettingsOutOfRange) {
  Parts parts;
  parts.settings.steps = 2;
  TrainingState<float> state;
  state.step = 3;
  Trainer<float> ahead(parts.model, parts.data, parts.settings, state);
  RunObserver observer;
  try {
    run_training(ahead, {}, observer);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "--steps must be at least the 3 updates that are done: got 2");
  }
  Trainer<float> trainer(parts.model, parts.data, parts.settings);
  const auto refused = [&](auto change) {
    RunSettings run;
    change(run);
    EXPECT_THROW(run_training(trainer, run, observer), UsageError);
  };
  refused([](RunSettings& run) { run.eval_every = 0; });
  refused([](RunSettings& run) { run.patience = -1; });
  refused([](RunSettings& run) { run.save_every = -1; });
  refused([](RunSettings& run) { run.stop_after = -1; });
}

}  // namespace
}  // namespace attn
