#include "tinygpt-train/options.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/parallel.h"
#include "enum-option.h"
#include "model/presets.h"
#include "tinygpt-train/earlier.h"
#include "tinygpt-train/rules.h"
#include "train/recipes.h"

namespace attn {
namespace {

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const ModelPreset& preset : model_presets()) names.push_back(preset.name);
  return names;
}

void take_preset(std::string_view name, TrainOptions& options) {
  const ModelPreset& preset = model_preset(name);
  const Recipe how = recipe(name);
  options.preset = preset.name;
  options.model = stated(preset.config);
  options.task.seq_len = preset.config.seq_len;
  options.task.tokenizer = how.tokenizer;
  take_training(how.settings, options);
}

// The default of an option that depends on the task: its value for progressions and for a text.
template <class Field>
std::string by_task(Field TaskDefaults::*field) {
  const auto progressions = task_defaults("progressions").*field;
  const auto text = task_defaults("text").*field;
  if (progressions == text) return fmt::format("{}", text);
  return fmt::format("{}, of a text {}", progressions, text);
}

void declare_start(cli::OptionTable& table, TrainOptions& options) {
  table.group("Start");
  table
      .custom(
          "preset", "NAME", [&options](std::string_view name) { take_preset(name, options); },
          fmt::format("shape and recipe of a whole model by name; other options win ({})",
                      fmt::join(preset_names(), ", ")))
      .completes_from(preset_names)
      .before_others();
  table.input("init-from", options.init_from,
              "begin with this checkpoint's model; with --kv-heads its key-value heads are pooled");
  table.input("resume", options.resume, "go on with this checkpoint's run, to the same bits")
      .may_be_output()
      .not_data();
}

void declare_task(cli::OptionTable& table, TrainOptions& options) {
  TaskSettings& task = options.task;
  table.group("Task and data");
  table.choice("task", task.name, task_names(), "what to learn")
      .default_is("progressions, or what --arch can");
  table.inputs("text", task.text, "learn these texts, one after the other; - is stdin")
      .argument("FILE ...")
      .takes_operands();
  table.flag("lines", task.lines, "each line of --text is a document of its own");
  table.input("pairs", task.pairs, "learn to write the second of each line SOURCE TAB TARGET");
  cli::input_option(table, task.tokens, "learn the token ids in /tokens of this HDF5 file");
  table.choice("tokenizer", task.tokenizer, {"characters", "bytes", "gpt2"},
               "what a token of a text is");
  table
      .input("vocab", task.vocab,
             "folder of --tokenizer gpt2: vocab.json and merges.txt, or encoder.json and vocab.bpe")
      .argument("FOLDER");
  table.count("seq-len", task.seq_len, "tokens of a sequence, or of the longest")
      .default_is(by_task(&TaskDefaults::seq_len));
  table.count("min-len", task.min_len, "of the shortest sequence of copy, reverse or masked")
      .default_is("the task's");
  table.count("modulus", task.modulus, "numbers of progressions; symbols of the other tasks")
      .default_is("the task's");
  table.real("mask-fraction", task.mask_fraction, "share of tokens an encoder has to guess")
      .above(0)
      .below(1)
      .default_is("the task's");
  table
      .real("val-fraction", task.held_out,
            "share held out: a text's end, or lines, pairs or rows at random")
      .above(0)
      .below(1);
  table
      .custom(
          "eval-windows", "N",
          [&task](std::string_view text) {
            task.eval_windows = text == "all" ? 0 : cli::parse_count(text, "--eval-windows");
          },
          "held-out windows or lines of an evaluation, or all")
      .default_is(fmt::format("{}", task.eval_windows));
}

void declare_recipe(cli::OptionTable& table, TrainOptions& options) {
  TrainerSettings& t = options.training.trainer;
  table.group("Training");
  table.count("steps", options.steps, "updates")
      .at_least(0)
      .default_is(by_task(&TaskDefaults::steps));
  table.count("batch", options.batch, "sequences of an update")
      .default_is(by_task(&TaskDefaults::batch));
  table.count("accumulate", t.accumulate,
              "batches of an update, the bits of one so many times larger");
  table.real("lr", options.lr, "AdamW's rate, the highest")
      .above(0)
      .default_is(by_task(&TaskDefaults::lr));
  enum_option<ScheduleKind>(table, "schedule", options.schedule, "how the rate goes down")
      .default_is("constant, or as the task needs");
  table.real("min-lr", t.min_lr, "where it ends").at_least(0);
  table.count("warmup", t.warmup, "updates on the way up to the rate").at_least(0);
  table.reals("betas", options.betas, "AdamW's two decay rates").at_least(0).below(1);
  table.real("eps", t.adamw.eps, "AdamW's eps").above(0);
  table.real("weight-decay", t.adamw.weight_decay, "AdamW's decay").at_least(0);
  enum_option<DecayScope>(table, "decay", t.decay, "which parameters decay");
  table.real("clip", t.clip, "most norm of all gradients together; 0 is any").at_least(0);
  table.real("dropout", t.dropout, "share of numbers hidden while training").at_least(0).below(1);
  table
      .real("label-smoothing", t.label_smoothing,
            "share of a target's probability spread over all tokens")
      .at_least(0)
      .below(1);
  table.choice("init", options.training.init, enum_names<InitScheme>(),
               "what parameters are drawn from");
  table.count("eval-every", options.eval_every, "evaluate after each N updates")
      .default_is("a tenth of --steps");
  table
      .count("patience", options.training.patience,
             "end after N evaluations without a better one; 0 is never")
      .at_least(0);
  table.flag("log-gradients", t.log_gradients,
             "keep each parameter's gradient norm of each update");
  cli::seed_option(table, options.seed);
}

void declare_run(cli::OptionTable& table, TrainOptions& options) {
  table.group("Run");
  cli::output_option(table, options.output, "checkpoint to write, - for stdout");
  table.output("best", options.best, "checkpoint of the evaluation with the least loss");
  table.output("checkpoint", options.checkpoint,
               "where --save-every and signals save, instead of --output");
  table.count("save-every", options.save_every, "save after each N updates").not_data();
  table.count("stop-after", options.stop_after, "stop, to be resumed, once N updates are done")
      .at_least(0)
      .not_data();
  table.flag("tokenize", options.tokenize,
             "only write the token ids of --text, for -i: /tokens and /tokenizer");
  table.flag("dry-run", options.dry_run, "only count parameters, FLOPs and memory").not_data();
  cli::show_options(table, options.show, "draw the loss curve in the terminal");
  cli::format_options(table, options.format, {cli::Format::kText, cli::Format::kJson});
  options.threads = available_threads();
  cli::threads_option(table, options.threads);
  cli::max_bytes_option(table, options.max_bytes);
  cli::progress_option(table);
}

std::optional<Index> whole(const Setting& value) {
  const auto* number = std::get_if<Index>(&value);
  return number != nullptr ? std::optional<Index>(*number) : std::nullopt;
}

std::optional<double> real(const Setting& value) {
  if (const auto number = whole(value)) return static_cast<double>(*number);
  const auto* number = std::get_if<double>(&value);
  return number != nullptr ? std::optional<double>(*number) : std::nullopt;
}

}  // namespace

void declare_training(cli::OptionTable& table, TrainOptions& options) {
  options.training.eval_every = 0;
  declare_start(table, options);
  declare_task(table, options);
  declare_model(table, options.model);
  declare_recipe(table, options);
  declare_run(table, options);
  table.check([&table, &options] {
    check_training_options(table, options);
    read_earlier(table, options);
  });
}

bool is_task_by_name(const std::string& task) {
  const std::vector<std::string>& names = task_names();
  return std::find(names.begin(), names.end(), task) != names.end();
}

bool says_what_to_learn(const TaskSettings& task) {
  return !task.name.empty() || !task.text.empty() || !task.pairs.empty() || !task.tokens.empty();
}

TrainingSettings training_settings(const TrainOptions& options, const Task& task) {
  TrainingSettings settings = options.training;
  settings.task = task.name;
  settings.data_digest = task.data_digest;
  settings.task_settings = task.settings;
  TrainerSettings& t = settings.trainer;
  t.adamw.lr = options.lr.value_or(task.defaults.lr);
  t.schedule = options.schedule.value_or(task.defaults.schedule);
  t.adamw.beta1 = options.betas[0];
  t.adamw.beta2 = options.betas[1];
  t.batch = options.batch.value_or(task.defaults.batch);
  t.steps = options.steps.value_or(task.defaults.steps);
  t.seed = static_cast<std::uint64_t>(options.seed);
  t.threads = static_cast<int>(options.threads);
  settings.eval_every = options.eval_every.value_or(std::max<Index>(1, t.steps / 10));
  return settings;
}

void take_task_settings(const SettingList& list, TaskSettings& task) {
  for (const auto& [name, value] : list) {
    if (name == "seq_len") task.seq_len = whole(value);
    if (name == "min_len") task.min_len = whole(value);
    if (name == "modulus") task.modulus = whole(value);
    if (name == "mask_fraction") task.mask_fraction = real(value);
    if (name == "val_fraction") task.held_out = real(value).value_or(task.held_out);
    if (name == "eval_windows") task.eval_windows = whole(value).value_or(task.eval_windows);
    if (name == "tokenizer" && std::holds_alternative<std::string>(value)) {
      task.tokenizer = std::get<std::string>(value);
    }
  }
}

void take_training(const TrainingSettings& settings, TrainOptions& options) {
  const TrainerSettings& t = settings.trainer;
  options.training = settings;
  options.lr = t.adamw.lr;
  options.schedule = t.schedule;
  options.betas = {t.adamw.beta1, t.adamw.beta2};
  options.batch = t.batch;
  options.steps = t.steps;
  options.eval_every = settings.eval_every > 0 ? std::optional(settings.eval_every) : std::nullopt;
}

}  // namespace attn
