// Trains a small transformer and writes a checkpoint, from which it can go on to the same bits.
//
//   tinygpt-train -o model.h5
//   tinygpt-train --task reverse --steps 2000 -o reverse.h5
//   tinygpt-train --preset nanogpt-cpu --text shakespeare.txt --save-every 100 -o model.h5
//   tinygpt-train --resume model.h5 --text shakespeare.txt -o model.h5
//   tinygpt-train --dry-run --preset gpt2

#include <fmt/core.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "cli/signals.h"
#include "cli/tool.h"
#include "core/counted.h"
#include "core/memory.h"
#include "core/text.h"
#include "io/temporary_file.h"
#include "ops/gemm.h"
#include "tinygpt-train/begin.h"
#include "tinygpt-train/earlier.h"
#include "tinygpt-train/files.h"
#include "tinygpt-train/options.h"
#include "tinygpt-train/plan.h"
#include "tinygpt-train/report.h"
#include "tinygpt-train/sizes.h"
#include "tinygpt-train/tokenize.h"
#include "tinygpt-train/watch.h"
#include "train/loss_floor.h"
#include "train/training_run.h"

namespace {

using namespace attn;

double bytes_of_training(const TrainingPlan& plan) {
  const TrainerSettings& trainer = plan.settings.trainer;
  const DataSource& data = *plan.task.data;
  const auto sequences =
      static_cast<double>(trainer.batch) * static_cast<double>(trainer.accumulate);
  // A batch, each token with its target; where it cannot be counted, it cannot be had.
  const double batch =
      2.0 * sizeof(Index) * sequences * static_cast<double>(data.seq_len() + data.source_len());
  const auto countable = checked_mul(trainer.batch, trainer.accumulate);
  if (!countable) return batch;
  const TrainingMemory step =
      training_memory(plan.config, data.seq_len(), *countable, trainer.threads, data.source_len());
  // And the checkpoint's image, built while all of that is still held.
  const double image = static_cast<double>(step.parameters) + static_cast<double>(step.optimizer);
  return static_cast<double>(step.total) + batch + image;
}

int dry_run(const TrainOptions& options, cli::Session& session) {
  session.did("counted parameters, operations and memory, and trained nothing");
  TrainerSettings trainer = options.training.trainer;
  if (counts_without_data(options, session)) {
    trainer.batch = options.batch.value_or(task_defaults("progressions").batch);
    trainer.threads = static_cast<int>(options.threads);
    const ModelConfig config = config_without_data(options);
    const Index source_len = config.arch == Arch::kEncoderDecoder ? config.seq_len : 0;
    report_sizes(config, trainer, source_len, options.format, session.report());
    return cli::kDone;
  }
  const TrainingPlan plan = make_plan(options, session);
  report_sizes(plan.config, plan.settings.trainer, plan.task.data->source_len(), options.format,
               session.report());
  return cli::kDone;
}

RunSettings run_settings(const TrainOptions& options, const TrainingPlan& plan) {
  RunSettings run;
  run.eval_every = plan.settings.eval_every;
  run.patience = plan.settings.patience;
  run.save_every = options.save_every.value_or(0);
  run.stop_after = options.stop_after;
  return run;
}

// The sign of a NaN means nothing to a reader.
std::string number_text(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{}", value);
}

int say_diverged(const RunEnd& end, const TrainingState<float>& state, const TrainingFiles& files,
                 cli::Session& session) {
  const StepReport& last = end.last;
  if (!last.finite()) {
    return session.say_no(fmt::format("step {}: {} (loss {}, gradient norm {}, lr {}): {}",
                                      last.step + 1, end.fault->text(), number_text(last.loss),
                                      number_text(last.gradient_norm), last.lr, files.holdings()));
  }
  return session.say_no(fmt::format("after step {}: {} (loss {}, lr {}): {}", last.step,
                                    end.fault->text(), number_text(state.evaluations.back().loss),
                                    last.lr, files.holdings()));
}

// Where a run stands that has more to do.
std::string stop_text(const TrainOptions& options, const Trainer<float>& trainer, const Task& task,
                      const char* why, const TrainingFiles& files) {
  const std::string& file = files.resumable();
  std::string line =
      fmt::format("{} after step {}: {}", why, trainer.state().step, files.holdings());
  if (!file.empty()) {
    line += fmt::format("; --resume {} -o {} goes on{}", escaped(file, 4096),
                        escaped(options.output, 4096),
                        is_task_by_name(task.name) ? "" : ", with the same data");
  } else if (!files.hold_something()) {
    line += ": stdout gets whole runs only, --checkpoint FILE keeps what is done";
  }
  return line;
}

void note_resumed(const TrainOptions& options, const TrainingPlan& plan, Index step,
                  const cli::Session& session) {
  if (options.resume.empty()) return;
  session.note(fmt::format("going on after step {} of {}", step, plan.settings.trainer.steps));
  for (const SettingChange& change : plan.changes) session.note(change.text());
}

// The rate is the earlier run's where nobody said another: what it is and why.
void note_begun_from(const TrainOptions& options, const TrainingPlan& plan,
                     const cli::Session& session) {
  if (options.init_from.empty()) return;
  const EarlierRun& run = *options.earlier;
  const double rate = plan.settings.trainer.adamw.lr;
  std::string why;
  if (session.given("lr")) {
    why = ", as --lr says";
  } else if (run.step == 0) {
    why = fmt::format(", the task's own: {} is of no run", run.name);
  } else if (rate == run.last_rate()) {
    why = fmt::format(", as the run of {} ended", run.name);
  } else {
    why = fmt::format(", the highest of the run of {}: it ended at {:.3g}", run.name,
                      run.last_rate());
  }
  session.note(fmt::format("begins at lr {:.6g}{}", rate, why));
}

int run(const TrainOptions& options, cli::Session& session) {
  if (options.tokenize) return run_tokenize(options, session);
  if (options.dry_run) return dry_run(options, session);
  TrainingFiles files(options);
  TrainingPlan plan = make_plan(options, session);
  require_memory("training", bytes_of_training(plan));
  files.set_history(session, plan.changes);

  const auto model = begin_model(options, plan);
  Trainer<float> trainer(*model, *plan.task.data, plan.settings.trainer,
                         begin_state(options, plan));
  const TrainingState<float>& state = trainer.state();
  note_beginning(plan, *model, session);
  note_resumed(options, plan, state.step, session);
  note_begun_from(options, plan, session);

  cli::on_interrupt(remove_temporary_files);
  std::optional<cli::StopRequest> stop(std::in_place);
  TrainingWatch watch(trainer, plan, files, *stop, session);
  const RunEnd end = run_training(trainer, run_settings(options, plan), watch);
  watch.end();

  if (end.outcome == RunOutcome::kStopped && *stop) {
    session.note(stop_text(options, trainer, plan.task, stop->name(), files));
    stop->obey();
  }
  stop.reset();  // what is left is not worth waiting for
  report_training({plan, trainer, end}, options.format, options.show, session);
  if (end.outcome == RunOutcome::kDiverged) return say_diverged(end, state, files, session);
  files.finish(trainer, plan.task);
  if (end.outcome == RunOutcome::kStopped) {
    session.did(stop_text(options, trainer, plan.task, "stopped", files));
    return cli::kDone;
  }
  session.did(fmt::format("trained {}: loss {:.4f}, accuracy {:.4f}", counted(state.step, "update"),
                          state.evaluations.back().loss,
                          judged_accuracy(plan.task, state.evaluations.back())));
  const DataSource& data = *plan.task.data;
  if (data.floor_is_exact() &&
      passes_floor(state.evaluations.back().loss, data.loss_floor().value_or(0))) {
    return session.say_no("the loss is below its floor: the model sees what it should predict");
  }
  return cli::kDone;
}

}  // namespace

int main(int argc, char** argv) {
  return attn::cli::tool_main<TrainOptions>(
      {.name = "tinygpt-train",
       .summary = "trains a small transformer and writes a checkpoint",
       .usage = "-o FILE [OPTIONS]",
       .examples =
           {{"tinygpt-train -o model.h5", "arithmetic progressions, the tutorial's recipe"},
            {"tinygpt-train --steps 300 -o - | tinygpt-generate -i - --prompt \"3 5\"",
             "through a pipe"},
            {"tinygpt-train --task reverse -o reverse.h5",
             "an encoder-decoder that writes backwards what it reads"},
            {"tinygpt-train --preset nanogpt-cpu --text book.txt --save-every 100 -o book.h5",
             "a text, character by character, saved as it goes"},
            {"tinygpt-train --resume book.h5 --text book.txt -o book.h5",
             "what was interrupted, to the bits of a run that was not"},
            {"tinygpt-train --init-from mha.h5 --kv-heads 2 --text book.txt -o gqa.h5",
             "key-value heads pooled, then trained on"},
            {"tinygpt-train --tokenize --text a.txt --tokenizer gpt2 --vocab gpt2 -o ids.h5",
             "GPT-2's token ids, to be trained on by -i ids.h5"},
            {"tinygpt-train --dry-run --preset gpt2",
             "parameters, FLOPs and memory, without training"}},
       .notes =
           "Each task has an accuracy that it must reach, and where some tokens cannot be known\n"
           "a floor under its loss; both are printed beside what was reached. Progressions start\n"
           "at 0 to 9 and go on by 1 to 9, modulo 10: the second token cannot be known, so the\n"
           "mean loss of n tokens has the floor ln 9 / (n - 1), which is 0.19975 for 12. A loss\n"
           "of 0.20 is success, and a loss below the floor means that the model sees the future.\n"
           "A text must be UTF-8 (by characters), and its part for training and its held-out\n"
           "part must each have a token more than --seq-len. Lines of --lines and --pairs end in\n"
           "\\n or \\r\\n.\n"
           "\n"
           "SIGINT and SIGTERM finish the update, save, and end the program with 130 or 143; a\n"
           "second one ends it at once. --resume goes on from there, from --stop-after, or from\n"
           "what --save-every left, and ends with the bytes of a run that never stopped. Settings\n"
           "come from the file; a text, pairs or ids must be given again, the same. Steps, rate,\n"
           "schedule and other settings of the optimiser may change, which stderr and the file's\n"
           "history then say; another task, seed, data or model is refused.\n"
           "\n"
           "--init-from begins another run, with the file's parameters and tokenizer. Its recipe "
           "is\n"
           "the file's, at the rate that run ended with, or at its highest where it ended below a\n"
           "tenth of that: stderr says which, and --lr wins.\n"
           "\n"
           "Words of the model's options are spelled as in the file's attributes. The same\n"
           "command writes the same bytes, whatever --threads.",
       .meaning_of_no = "training diverged, or its loss is below what is possible",
       .bare_call_works = true,
       .versions = [] { return std::vector<std::string>{blas_description()}; }},
      argc, argv, declare_training, run);
}
