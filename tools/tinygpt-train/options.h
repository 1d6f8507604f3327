#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/common_options.h"
#include "model-options.h"
#include "train/task.h"
#include "train/training_settings.h"

namespace attn {

struct EarlierRun;

/// tinygpt-train's command line. What depends on the task where nobody said it is optional.
struct TrainOptions {
  std::string preset;
  std::string resume;
  std::string init_from;
  std::shared_ptr<EarlierRun> earlier;  // of --resume or --init-from, read

  TaskSettings task;
  ModelOptions model;

  TrainingSettings training;  // but for these
  std::optional<Index> steps, batch, eval_every;
  std::optional<double> lr;
  std::optional<ScheduleKind> schedule;
  std::vector<double> betas{0.9, 0.999};
  Index seed = 0;

  std::string output, best, checkpoint;
  std::optional<Index> save_every, stop_after;
  bool dry_run = false;
  bool tokenize = false;  // write the text's ids, train nothing
  bool show = false;
  cli::Format format = cli::Format::kText;
  Index threads = 1;
  Index max_bytes = cli::kDefaultMaxBytes;
};

void declare_training(cli::OptionTable& table, TrainOptions& options);

/// Is it one of the tasks that need no data?
bool is_task_by_name(const std::string& task);

/// Are the data to learn said: a task, or files?
bool says_what_to_learn(const TaskSettings& task);

/// The settings of a run as options and the task's defaults make them.
TrainingSettings training_settings(const TrainOptions& options, const Task& task);

/// Sets what a list of settings says of a task (its own attributes of /training).
void take_task_settings(const SettingList& list, TaskSettings& task);

/// Sets the options that state these settings.
void take_training(const TrainingSettings& settings, TrainOptions& options);

}  // namespace attn
