#pragma once

#include <chrono>
#include <optional>

#include "cli/progress.h"
#include "cli/session.h"
#include "cli/stop_request.h"
#include "tinygpt-train/files.h"
#include "tinygpt-train/plan.h"
#include "train/training_run.h"

namespace attn {

/// Watches a run for those who sit before it: a line as it goes, a line for each evaluation, files
/// where they are due, an end where a signal asks for it. Into plan and state it puts the later
/// loss of a pooled model.
class TrainingWatch : public RunObserver {
 public:
  TrainingWatch(Trainer<float>& trainer, TrainingPlan& plan, TrainingFiles& files,
                const cli::StopRequest& stop, const cli::Session& session);

  void on_step(const StepReport& report) override;
  void on_evaluation(const EvaluationPoint& point, bool best) override;
  void on_unusual_start(double loss, double uniform) override;
  void save() override;
  void save_best() override;
  bool stop_requested() override { return static_cast<bool>(stop_); }

  /// The line that is rewritten stays as it is from here on.
  void end() { progress_.reset(); }

 private:
  using Clock = std::chrono::steady_clock;

  void follow_pooled();

  Trainer<float>& trainer_;
  TrainingPlan& plan_;
  TrainingFiles& files_;
  const cli::Session& session_;
  const cli::StopRequest& stop_;
  std::optional<cli::Progress> progress_;
  // Evaluating and saving are not counted to the rate.
  Clock::time_point since_ = Clock::now();  // when the update that runs began
  std::chrono::duration<double> in_updates_{0};
  Index updates_ = 0;
  double tokens_per_step_;
};

/// The accuracy that a task is judged by.
double judged_accuracy(const Task& task, const EvaluationPoint& point);

/// "bits per character" or "bits per byte" where tokens are pieces of a text; empty elsewhere.
std::string bits_per(const Task& task);

}  // namespace attn
