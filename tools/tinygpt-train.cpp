// Trains a small decoder and writes a checkpoint.
//
//   tinygpt-train -o model.h5
//   tinygpt-train --steps 300 -o - | tinygpt-generate -i - --prompt "3 5" --new-tokens 8 --show
//   tinygpt-train --text /usr/share/common-licenses/GPL-3 -o gpl.h5
//   tinygpt-train --dry-run --dim 512 --heads 8 --mlp-hidden 2048

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/common_options.h"
#include "cli/progress.h"
#include "cli/tool.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/text.h"
#include "io/byte_source.h"
#include "io/output.h"
#include "io/provenance.h"
#include "model-options.h"
#include "model/checkpoint.h"
#include "ops/gemm.h"
#include "tinygpt-train-report.h"
#include "train/loss_floor.h"
#include "train/task.h"
#include "train/trainer.h"

namespace {

using namespace attn;

// What depends on the task where the user did not say it.
struct TaskDefaults {
  Index seq_len;
  Index batch;
  Index steps;
};
constexpr TaskDefaults kProgressionDefaults{12, 128, 1500};
constexpr TaskDefaults kTextDefaults{64, 32, 1000};

struct Options {
  std::string text;
  double val_fraction = 0.1;
  ModelOptions model;
  std::optional<Index> seq_len;
  AdamWSettings adamw{.lr = 3e-3};
  std::vector<double> betas{0.9, 0.999};
  std::optional<Index> batch, steps, eval_every;
  Index seed = 0;
  Index threads = available_threads();
  Index max_bytes = cli::kDefaultMaxBytes;
  std::string output;
  bool dry_run = false;
  bool show = false;
  cli::Format format = cli::Format::kText;
};

std::string either(Index progressions, Index text) {
  return fmt::format("{}, of a text {}", progressions, text);
}

void declare(cli::OptionTable& table, Options& options) {
  table.group("Task");
  table.input("text", options.text, "learn this text by characters, - for stdin")
      .default_is("progressions modulo 10");
  table.real("val-fraction", options.val_fraction, "share of the text held out, from its end")
      .above(0)
      .below(1);
  table.count("seq-len", options.seq_len, "tokens of a training sequence")
      .default_is(either(kProgressionDefaults.seq_len, kTextDefaults.seq_len));

  declare_model(table, options.model);

  table.group("Training");
  table.count("steps", options.steps, "updates")
      .at_least(0)
      .default_is(either(kProgressionDefaults.steps, kTextDefaults.steps));
  table.count("batch", options.batch, "sequences of an update")
      .default_is(either(kProgressionDefaults.batch, kTextDefaults.batch));
  table.real("lr", options.adamw.lr, "AdamW's rate").above(0);
  table.reals("betas", options.betas, "AdamW's two decay rates").at_least(0).below(1);
  table.real("eps", options.adamw.eps, "AdamW's eps").above(0);
  table.real("weight-decay", options.adamw.weight_decay, "AdamW's decay, of every parameter")
      .at_least(0);
  table.count("eval-every", options.eval_every, "evaluate after each N updates")
      .default_is("a tenth of --steps");
  cli::seed_option(table, options.seed);

  table.group("Run");
  cli::output_option(table, options.output, "checkpoint to write, - for stdout");
  table.flag("dry-run", options.dry_run, "only count parameters, FLOPs and memory").not_data();
  cli::show_options(table, options.show, "draw the loss curve in the terminal");
  cli::format_options(table, options.format, {cli::Format::kText, cli::Format::kJson});
  cli::threads_option(table, options.threads);
  cli::max_bytes_option(table, options.max_bytes);
  cli::progress_option(table);

  table.check([&options, &table] {
    refuse_idle_options(table, options.model);
    if (table.given("val-fraction") && options.text.empty()) {
      throw UsageError("--val-fraction is only for --text: of progressions none is held out");
    }
    if (options.output.empty() && !options.dry_run) {
      throw UsageError("nowhere to write the model: --output is missing",
                       {"-o model.h5, or -o - for a pipe; --dry-run only counts"});
    }
    if (options.show && options.dry_run) throw UsageError("--dry-run has no loss to --show");
  });
}

Task make_task(const Options& options) {
  const auto seed = static_cast<std::uint64_t>(options.seed);
  if (options.text.empty()) {
    return progressions_task(options.seq_len.value_or(kProgressionDefaults.seq_len), seed);
  }
  const ByteSource source = ByteSource::open(options.text, options.max_bytes);
  TextWindows::Settings settings;
  settings.seq_len = options.seq_len.value_or(kTextDefaults.seq_len);
  settings.held_out = options.val_fraction;
  settings.seed = seed;
  return text_task(as_text(source.bytes()), source.name(), settings);
}

TrainerSettings trainer_settings(const Options& options, const Task& task) {
  if (options.betas.size() != 2) {
    throw UsageError(
        fmt::format("--betas wants two numbers, such as 0.9,0.999: {} came", options.betas.size()));
  }
  const TaskDefaults& defaults = task.name == "text" ? kTextDefaults : kProgressionDefaults;
  TrainerSettings settings;
  settings.adamw = options.adamw;
  settings.adamw.beta1 = options.betas[0];
  settings.adamw.beta2 = options.betas[1];
  settings.batch = options.batch.value_or(defaults.batch);
  settings.threads = static_cast<int>(options.threads);
  return settings;
}

double bytes_of_training(const ModelConfig& config, const TrainerSettings& settings) {
  const TrainingMemory step =
      training_memory(config, config.seq_len, settings.batch, settings.threads);
  // Beside it a batch, each token with its target.
  const double batch = 2.0 * sizeof(Index) * static_cast<double>(settings.batch) *
                       static_cast<double>(config.seq_len);
  // And the checkpoint's image, built while all of that is still held.
  const double image = static_cast<double>(step.parameters) + static_cast<double>(step.optimizer);
  return static_cast<double>(step.total) + batch + image;
}

std::string rate_text(double per_second) {
  return per_second < 10000 ? fmt::format("{:.0f}", per_second)
                            : fmt::format("{:.0f}k", per_second / 1000);
}

// Training to the end, with progress.
Outcome train(Trainer<float>& trainer, const Task& task, Index steps, Index eval_every,
              Index tokens_per_step, cli::Session& session) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  cli::Progress progress(session, steps, "step");
  Outcome outcome;
  Evaluation evaluation = trainer.evaluate();
  while (trainer.state().step < steps) {
    outcome.last = trainer.step();
    if (!outcome.last.finite()) {
      outcome.diverged = true;
      return outcome;
    }
    const Index step = outcome.last.step;
    if (step % eval_every == 0 || step == steps) {
      evaluation = trainer.evaluate();
      // The update after a finite gradient may be the one that goes too far.
      outcome.diverged = trainer.fault().has_value();
      if (outcome.diverged) return outcome;
    }
    if (!progress.wants(step)) continue;
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    const double rate = static_cast<double>(step * tokens_per_step) / elapsed.count();
    progress.update(step, fmt::format("loss {:.4f} {} {:.4f} accuracy {:.2f} {} tok/s",
                                      outcome.last.loss, task.yardstick_name, task.yardstick,
                                      evaluation.accuracy, rate_text(rate)));
  }
  return outcome;
}

// How the run was set up, for whoever finds the file.
SettingList run_settings(const Options& options, const Task& task, const TrainerSettings& settings,
                         Index steps) {
  SettingList all = {
      {"task", task.name},
      {"steps", steps},
      {"batch", settings.batch},
      {"seq_len", task.data->seq_len()},
      {"optimizer", std::string("adamw")},
      {"lr", settings.adamw.lr},
      {"beta1", settings.adamw.beta1},
      {"beta2", settings.adamw.beta2},
      {"eps", settings.adamw.eps},
      {"weight_decay", settings.adamw.weight_decay},
      {task.yardstick_name, task.yardstick},
  };
  if (task.name == "text") all.emplace_back("val_fraction", options.val_fraction);
  return all;
}

void save(const Options& options, const Transformer<float>& model, const Tokenizer& tokenizer,
          const TrainingState<float>& state, const cli::Session& session) {
  Hdf5Writer writer;
  Provenance provenance;
  provenance.format = "attntools-checkpoint";
  provenance.seed = options.seed;
  provenance.command = session.history();
  write_provenance(writer, provenance);
  write_checkpoint(writer, model, &tokenizer, &state);
  write_output(options.output, writer.finish());
}

// The sign of a NaN means nothing to a reader.
std::string number_text(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{}", value);
}

int run(const Options& options, cli::Session& session) {
  if (!options.dry_run) check_output(options.output, {options.text});
  const Task task = make_task(options);
  const ModelConfig config =
      model_config(options.model, task.data->vocab_size(), task.data->seq_len());
  const TrainerSettings settings = trainer_settings(options, task);
  if (options.dry_run) {
    report_sizes(config, settings.batch, settings.threads, options.format, session.report());
    return cli::kDone;
  }
  require_memory("training", bytes_of_training(config, settings));
  const TaskDefaults& defaults = options.text.empty() ? kProgressionDefaults : kTextDefaults;
  const Index steps = options.steps.value_or(defaults.steps);
  const Index eval_every = options.eval_every.value_or(std::max<Index>(1, steps / 10));
  const ParameterCounts counts = count_parameters(config);

  Transformer<float> model(config);
  model.params().initialise(static_cast<std::uint64_t>(options.seed));
  Trainer<float> trainer(model, *task.data, settings);
  trainer.state().settings = run_settings(options, task, settings, steps);

  session.note(task.about);
  session.note(fmt::format("{} parameters; {} {:.5f}: {}", grouped(counts.total),
                           task.yardstick_name, task.yardstick, task.yardstick_about));
  const Outcome outcome =
      train(trainer, task, steps, eval_every, settings.batch * config.seq_len, session);
  report_training(task, config, trainer.state(), outcome, options.format, options.show, session);
  if (outcome.diverged && outcome.last.finite()) {
    return session.say_no(fmt::format(
        "after step {}: the loss or a parameter is not finite (loss "
        "{}, lr {}): nothing was written",
        outcome.last.step, number_text(trainer.state().evaluations.back().loss), outcome.last.lr));
  }
  if (outcome.diverged) {
    return session.say_no(
        fmt::format("step {}: the loss or a gradient is not finite (loss {}, gradient "
                    "norm {}, lr {}): nothing was written",
                    outcome.last.step + 1, number_text(outcome.last.loss),
                    number_text(outcome.last.gradient_norm), outcome.last.lr));
  }
  save(options, model, *task.tokenizer, trainer.state(), session);
  if (task.data->floor_is_exact() &&
      passes_floor(trainer.state().evaluations.back().loss, task.data->loss_floor().value_or(0))) {
    return session.say_no("the loss is below its floor: the model sees what it should predict");
  }
  return cli::kDone;
}

}  // namespace

int main(int argc, char** argv) {
  return attn::cli::tool_main<Options>(
      {.name = "tinygpt-train",
       .summary = "trains a small decoder and writes a checkpoint",
       .usage = "-o FILE [OPTIONS]",
       .examples = {{"tinygpt-train -o model.h5", "arithmetic progressions, the tutorial's recipe"},
                    {"tinygpt-train --steps 300 -o - | tinygpt-generate -i - --prompt \"3 5\"",
                     "through a pipe"},
                    {"tinygpt-train --text book.txt -o book.h5", "a text, character by character"},
                    {"tinygpt-train --dry-run --dim 512 --heads 8",
                     "parameters, FLOPs and memory, without training"}},
       .notes = "Progressions start at 0 to 9 and go on by 1 to 9, modulo 10. The second token\n"
                "cannot be known, so the mean loss of n tokens has the floor ln 9 / (n - 1),\n"
                "which is 0.19975 for 12: a loss of 0.20 is success, and a loss below the floor\n"
                "means that the model sees the future. A text must be UTF-8, and its part for\n"
                "training and its held-out part must each have a token more than --seq-len; its\n"
                "loss is printed beside the entropy of the characters' frequencies. Words of\n"
                "the model's options are spelled as in the file's attributes. The same command\n"
                "writes the same bytes, whatever --threads.",
       .meaning_of_no = "training diverged, or its loss is below what is possible",
       .bare_call_works = true,
       .versions = [] { return std::vector<std::string>{blas_description()}; }},
      argc, argv, declare, run);
}
