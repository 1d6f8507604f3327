#include "tinygpt-train/earlier.h"

#include <fmt/core.h>

#include "core/error.h"
#include "core/text.h"
#include "io/provenance.h"
#include "model/model_attributes.h"

namespace attn {
namespace {

// The option that gives a task's data.
std::string data_option(const std::string& task) {
  if (task == "pairs") return "--pairs";
  return task == "tokens" ? "-i" : "--text";
}

[[noreturn]] void refuse(const EarlierRun& run, const SettingChange& change) {
  throw UsageError(fmt::format("{} is another run: {}", run.name, change.text()),
                   {"--init-from begins a new run with its parameters"});
}

[[noreturn]] void refuse_shape(const EarlierRun& run, const SettingChange& change) {
  throw UsageError(fmt::format("{} has a model of another shape: {}", run.name, change.text()));
}

// What the command line says is to be learnt, in a file's words; empty where it says nothing.
std::string typed_task(const cli::OptionTable& table, const TrainOptions& options) {
  if (table.given("task")) return options.task.name;
  if (table.given("text")) return options.task.lines ? "lines" : "text";
  if (table.given("pairs")) return "pairs";
  return table.given("input") ? "tokens" : "";
}

// What is only of files, given to a run that has none.
void refuse_idle(const cli::OptionTable& table, const std::string& task) {
  if (!is_task_by_name(task)) return;
  for (const char* option : {"lines", "tokenizer", "val-fraction", "eval-windows"}) {
    if (table.given(option)) throw UsageError(fmt::format("--{} says nothing of {}", option, task));
  }
}

void take_resumed(cli::OptionTable& table, TrainOptions& options) {
  const EarlierRun& run = *options.earlier;
  const std::string& task = run.settings.task;
  std::string typed = typed_task(table, options);
  if (typed == "text" && task == "lines") typed = task;  // --lines need not be said again
  if (!typed.empty() && typed != task) refuse(run, {"task", task, typed, false});
  if (typed.empty() && !is_task_by_name(task)) {
    throw UsageError(
        fmt::format("{} was trained on data that it does not hold: give them again", run.name),
        {fmt::format("{} FILE; other data are refused", data_option(task))});
  }
  refuse_idle(table, task);
  take_training(run.settings, options);
  options.seed = static_cast<Index>(run.settings.trainer.seed);
  if (is_task_by_name(task)) options.task.name = task;
  options.task.lines = task == "lines";
  take_task_settings(run.settings.task_settings, options.task);
}

// The recipe of a run as it ended: its rate stays where it was, unless the schedule had brought it
// to so little that nothing more would be learnt.
void take_ending(const EarlierRun& run, TrainOptions& options) {
  TrainingSettings settings = run.settings;
  TrainerSettings& t = settings.trainer;
  constexpr double kTooLittle = 0.1;  // of the highest
  if (run.last_rate() >= kTooLittle * t.adamw.lr) t.adamw.lr = run.last_rate();
  t.schedule = ScheduleKind::kConstant;
  t.min_lr = 0;
  t.warmup = 0;
  t.log_gradients = false;
  settings.patience = 0;
  settings.eval_every = 0;
  settings.pooled.reset();
  take_training(settings, options);
  options.steps.reset();
}

void take_beginning(const cli::OptionTable& table, TrainOptions& options) {
  const EarlierRun& run = *options.earlier;
  const std::string typed = typed_task(table, options);
  if (typed.empty() && is_task_by_name(run.settings.task)) options.task.name = run.settings.task;
  if (options.task.name == run.settings.task) {
    take_task_settings(run.settings.task_settings, options.task);
  } else if (typed == "text" && run.config.seq_len > 0) {
    options.task.seq_len = run.config.seq_len;
  }
  if (run.step > 0) take_ending(run, options);
  options.training.init = "checkpoint";
  if (run.step > 0 && table.given("kv-heads")) options.steps = uptraining_updates(run.step);
}

// The attributes of two models that differ.
std::vector<SettingChange> model_changes(const ModelConfig& was, const ModelConfig& now) {
  const SettingList old_list = model_attributes(was);
  const SettingList new_list = model_attributes(now);
  std::vector<SettingChange> found;
  for (std::size_t i = 0; i < old_list.size(); ++i) {
    if (old_list[i].second == new_list[i].second) continue;
    found.push_back({old_list[i].first, setting_text(old_list[i].second),
                     setting_text(new_list[i].second), false});
  }
  return found;
}

}  // namespace

void read_earlier(cli::OptionTable& table, TrainOptions& options) {
  const bool resume = !options.resume.empty();
  if (!resume && options.init_from.empty()) return;
  const Hdf5Reader reader = Hdf5Reader::open(resume ? options.resume : options.init_from,
                                             {.max_bytes = options.max_bytes});
  options.earlier = std::make_shared<EarlierRun>();
  EarlierRun& run = *options.earlier;
  run.name = reader.name();
  run.history = read_history(reader);
  run.checkpoint = read_checkpoint(reader);
  run.config = run.checkpoint.model->config();
  const bool trained = run.checkpoint.training.has_value();
  if (trained) {
    run.step = run.checkpoint.training->step;
    run.settings = from_list(run.checkpoint.training->settings, run.name);
  }
  if (resume && (!trained || run.checkpoint.training->m.empty() || run.settings.task.empty())) {
    throw DataError(fmt::format("{}: holds no run to go on with: no state of training", run.name),
                    {"--init-from begins a new run with its parameters"});
  }
  options.model = stated(run.config);
  if (resume) {
    take_resumed(table, options);
  } else {
    take_beginning(table, options);
  }
  options.task.text.clear();
  table.set_again();
}

std::vector<SettingChange> check_resumed(const EarlierRun& run, const TrainingSettings& now,
                                         const ModelConfig& config) {
  std::vector<SettingChange> all = changes(run.settings, now);
  for (const SettingChange& change : all) {
    if (!change.allowed) refuse(run, change);
  }
  for (const SettingChange& change : model_changes(run.config, config)) refuse(run, change);
  return all;
}

void check_same_arch(const EarlierRun& run, const TrainOptions& options) {
  if (!options.model.arch || *options.model.arch == run.config.arch) return;
  const SettingChange change{"arch", enum_name(run.config.arch), enum_name(*options.model.arch),
                             false};
  if (!options.resume.empty()) refuse(run, change);
  refuse_shape(run, change);
}

void check_begun_from(const EarlierRun& run, const ModelConfig& config) {
  for (const SettingChange& change : model_changes(run.config, config)) {
    if (change.name == "kv_heads" || change.name == "seq_len") continue;
    refuse_shape(run, change);
  }
}

}  // namespace attn
