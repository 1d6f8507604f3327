#include "tinygpt-train/plan.h"

#include <fmt/core.h>

#include <utility>

#include "core/error.h"
#include "text/id_tokenizer.h"
#include "tinygpt-train/earlier.h"

namespace attn {
namespace {

// The first task that is meant for an arrangement.
std::string task_for(Arch arch) {
  for (const std::string& name : task_names()) {
    if (task_archs(name).front() == arch) return name;
  }
  return "";
}

Task task_of(const TrainOptions& options) {
  TaskSettings settings = options.task;
  settings.arch = options.model.arch;
  settings.seed = static_cast<std::uint64_t>(options.seed);
  settings.max_bytes = options.max_bytes;
  if (options.earlier != nullptr) settings.tokenizer_from = options.earlier->checkpoint.tokenizer;
  if (!says_what_to_learn(settings) && settings.arch) settings.name = task_for(*settings.arch);
  try {
    return make_task(settings);
  } catch (const DataError& error) {
    if (options.resume.empty() || is_task_by_name(options.earlier->settings.task)) throw;
    // Unknown characters, for one: the reason why is not the text itself.
    throw DataError(error.what(),
                    {fmt::format("{} goes on with the data it was trained on, no other",
                                 options.earlier->name)});
  }
}

// Tokens beyond those that occur are for ids alone: a text has the vocabulary it has.
Index vocabulary(const TrainOptions& options, const Task& task) {
  if (options.earlier != nullptr) return options.earlier->config.vocab_size;
  const Index found = task.data->vocab_size();
  return task.name == "tokens" ? options.model.vocab_size.value_or(found) : found;
}

ModelNeeds needs_of(const TrainOptions& options, const Task& task) {
  ModelNeeds needs;
  needs.arch = task.arch;
  needs.vocab_size = vocabulary(options, task);
  needs.source_vocab_size = task.data->source_vocab_size();
  needs.seq_len = task.data->seq_len();
  needs.source_len = task.data->source_len();
  return needs;
}

// The file's tokenizer and the model must have the same tokens.
void fit_tokenizer(Task& task, Index vocab_size) {
  if (task.tokenizer->vocab_size() == vocab_size) return;
  if (task.name == "tokens" && task.data->vocab_size() < vocab_size) {
    task.tokenizer = std::make_shared<IdTokenizer>(vocab_size, task.tokenizer->specials());
    return;
  }
  throw UsageError(fmt::format("the model has {} tokens, the data {}", vocab_size,
                               task.tokenizer->vocab_size()));
}

// An earlier run's tokens are its own: asking for others would be in vain.
void check_tokenizer(const TrainOptions& options, const cli::Session& session) {
  if (options.earlier == nullptr || options.earlier->checkpoint.tokenizer == nullptr) return;
  const std::string kind = options.earlier->checkpoint.tokenizer->data().kind;
  if (session.given("tokenizer") && kind != options.task.tokenizer) {
    throw UsageError(fmt::format("{} has another tokenizer: --tokenizer was {}, now {}",
                                 options.earlier->name, kind, options.task.tokenizer));
  }
}

}  // namespace

TrainingPlan make_plan(const TrainOptions& options, const cli::Session& session) {
  if (options.earlier != nullptr) check_same_arch(*options.earlier, options);
  check_tokenizer(options, session);
  TrainingPlan plan;
  plan.task = task_of(options);
  refuse_idle_options(session, options.model, plan.task.arch);
  plan.config = model_config(options.model, needs_of(options, plan.task));
  plan.settings = training_settings(options, plan.task);
  if (plan.settings.trainer.schedule == ScheduleKind::kConstant && session.given("min-lr")) {
    throw UsageError("--min-lr is only for --schedule linear, cosine or inverse-sqrt");
  }
  if (!options.resume.empty()) {
    plan.changes = check_resumed(*options.earlier, plan.settings, plan.config);
  } else if (options.earlier != nullptr) {
    check_begun_from(*options.earlier, plan.config);
  }
  fit_tokenizer(plan.task, plan.config.vocab_size);
  return plan;
}

bool counts_without_data(const TrainOptions& options, const cli::Session& session) {
  return options.dry_run && !says_what_to_learn(options.task) &&
         (session.given("preset") || session.given("vocab-size"));
}

ModelConfig config_without_data(const TrainOptions& options) {
  ModelNeeds needs;
  needs.arch = options.model.arch.value_or(Arch::kDecoder);
  needs.vocab_size = options.model.vocab_size.value_or(needs.vocab_size);
  needs.source_vocab_size = options.model.source_vocab_size.value_or(needs.vocab_size);
  needs.seq_len = options.task.seq_len.value_or(task_defaults("progressions").seq_len);
  needs.source_len = needs.arch == Arch::kEncoderDecoder ? needs.seq_len : 0;
  return model_config(options.model, needs);
}

}  // namespace attn
