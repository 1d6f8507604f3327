#include "tinygpt-train/watch.h"

#include <fmt/core.h>

#include <cmath>

namespace attn {
namespace {

double tokens_of_a_step(const TrainingPlan& plan) {
  return static_cast<double>(plan.settings.trainer.sequences()) *
         static_cast<double>(plan.task.data->seq_len() + plan.task.data->source_len());
}

std::string evaluation_line(const Task& task, const EvaluationPoint& point, Index steps) {
  std::string line = fmt::format("eval {}/{}  loss {:.4f}", point.step, steps, point.loss);
  if (point.sample_loss) line += fmt::format("  train {:.4f}", *point.sample_loss);
  if (!task.data_digest.empty()) line += fmt::format("  perplexity {:.3f}", std::exp(point.loss));
  const std::string bits = bits_per(task);
  if (!bits.empty()) line += fmt::format("  {} {:.3f}", bits, point.loss / std::log(2.0));
  return line + fmt::format("  accuracy {:.4f}", judged_accuracy(task, point));
}

}  // namespace

double judged_accuracy(const Task& task, const EvaluationPoint& point) {
  return task.accuracy_of == AccuracyOf::kSequences ? point.exact : point.accuracy;
}

std::string bits_per(const Task& task) {
  const std::string kind = task.tokenizer->data().kind;
  if (kind == "characters") return "bits per character";
  return kind == "bytes" ? "bits per byte" : "";
}

TrainingWatch::TrainingWatch(Trainer<float>& trainer, TrainingPlan& plan, TrainingFiles& files,
                             const cli::StopRequest& stop, const cli::Session& session)
    : trainer_(trainer),
      plan_(plan),
      files_(files),
      session_(session),
      stop_(stop),
      progress_(std::in_place, session, plan.settings.trainer.steps, "step", trainer.state().step),
      tokens_per_step_(tokens_of_a_step(plan)) {}

void TrainingWatch::on_step(const StepReport& report) {
  ++updates_;
  in_updates_ += Clock::now() - since_;
  if (plan_.settings.pooled && report.step == plan_.settings.pooled->later_step) follow_pooled();
  if (progress_->wants(report.step)) {
    const double rate = static_cast<double>(updates_) * tokens_per_step_ / in_updates_.count();
    progress_->update(report.step, fmt::format("loss {:.4f}  lr {:.1e}  norm {:.2f}  {:.1e} tok/s",
                                               report.loss, report.lr, report.gradient_norm, rate));
  }
  since_ = Clock::now();
}

void TrainingWatch::follow_pooled() {
  BatchGradient<float> gradient(trainer_.model(), plan_.settings.trainer.threads);
  plan_.settings.pooled->later = gradient.evaluate(plan_.task.data->evaluation_batch()).loss;
  trainer_.state().settings = to_list(plan_.settings);
}

void TrainingWatch::on_evaluation(const EvaluationPoint& point, bool /*best*/) {
  since_ = Clock::now();
  std::string line = evaluation_line(plan_.task, point, plan_.settings.trainer.steps);
  if (point.step == 0) {
    const auto vocab_size = plan_.config.vocab_size;
    line += fmt::format("  (knowing nothing: ln {} = {:.4f})", vocab_size,
                        std::log(static_cast<double>(vocab_size)));
  }
  progress_->say(line);
}

void TrainingWatch::on_unusual_start(double loss, double uniform) {
  if (plan_.settings.init == "checkpoint") return;  // it has learnt something
  session_.warn(fmt::format("the loss before the first update is {:.4f}, far from {:.4f}: {}", loss,
                            uniform,
                            loss > uniform ? "the logits are large to begin with"
                                           : "does the model see what it should predict?"));
}

void TrainingWatch::save() {
  files_.save(trainer_, plan_.task);
  since_ = Clock::now();
}

void TrainingWatch::save_best() {
  files_.save_best(trainer_, plan_.task);
  since_ = Clock::now();
}

}  // namespace attn
