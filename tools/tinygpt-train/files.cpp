#include "tinygpt-train/files.h"

#include <fmt/core.h>

#include <algorithm>

#include "io/output.h"
#include "io/provenance.h"
#include "model/checkpoint.h"
#include "tinygpt-train/earlier.h"

namespace attn {
namespace {

std::string option_name(std::string attribute) {
  std::replace(attribute.begin(), attribute.end(), '_', '-');
  return attribute;
}

}  // namespace

TrainingFiles::TrainingFiles(const TrainOptions& options) : options_(options) {
  std::vector<std::string> inputs = options.task.text;
  for (const std::string& input : {options.task.pairs, options.task.tokens, options.init_from}) {
    if (!input.empty()) inputs.push_back(input);
  }
  for (const std::string& file : {options.output, options.best, options.checkpoint}) {
    if (!file.empty()) check_output(file, inputs);
  }
  working_ = options.checkpoint;
  if (working_.empty() && options.output != "-") working_ = options.output;
  if (!options.resume.empty() && options.resume == working_) {
    saved_ = options.earlier->step;
  }
}

void TrainingFiles::set_history(const cli::Session& session,
                                const std::vector<SettingChange>& changes) {
  command_ = session.history();
  if (options_.earlier == nullptr) return;
  earlier_history_ = options_.earlier->history;
  if (options_.resume.empty() || earlier_history_.empty()) return;
  if (!changes.empty()) {
    command_ = "tinygpt-train";
    for (const SettingChange& change : changes) {
      command_ += fmt::format(" --{} {}", option_name(change.name), change.now);
    }
    command_ += fmt::format(" (from step {})", options_.earlier->step);
    return;
  }
  // The same run: its own last line once more in place.
  const std::size_t last = earlier_history_.rfind('\n');
  command_ = earlier_history_.substr(last + 1);  // npos + 1 is 0
  earlier_history_.resize(last == std::string::npos ? 0 : last);
}

void TrainingFiles::write(const std::string& file, const Trainer<float>& trainer,
                          const Task& task) const {
  Hdf5Writer writer;
  Provenance provenance;
  provenance.format = kCheckpointFormat;
  provenance.seed = options_.seed;
  provenance.command = command_;
  provenance.earlier_history = earlier_history_;
  write_provenance(writer, provenance);
  write_checkpoint(writer, trainer.model(), task.tokenizer.get(), &trainer.state());
  write_output(file, writer.finish());
}

void TrainingFiles::save(const Trainer<float>& trainer, const Task& task) {
  if (working_.empty()) return;
  write(working_, trainer, task);
  saved_ = trainer.state().step;
}

void TrainingFiles::save_best(const Trainer<float>& trainer, const Task& task) const {
  if (!options_.best.empty()) write(options_.best, trainer, task);
}

void TrainingFiles::finish(const Trainer<float>& trainer, const Task& task) {
  if (options_.output == working_) return;
  write(options_.output, trainer, task);
  if (working_.empty()) saved_ = trainer.state().step;
}

std::string TrainingFiles::holdings() const {
  if (!saved_) return "nothing was written";
  return fmt::format("{} holds step {}", working_.empty() ? "stdout" : output_name(working_),
                     *saved_);
}

}  // namespace attn
