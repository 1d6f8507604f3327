#include "train/training_run.h"

#include <fmt/core.h>

#include <cmath>

#include "core/error.h"

namespace attn {
namespace {

void check(const RunSettings& settings, Index steps, Index done) {
  const auto at_least = [](const char* option, Index value, Index least) {
    if (value < least) {
      throw UsageError(fmt::format("{} must be at least {}: got {}", option, least, value));
    }
  };
  at_least("--eval-every", settings.eval_every, 1);
  at_least("--patience", settings.patience, 0);
  at_least("--save-every", settings.save_every, 0);
  if (settings.stop_after) at_least("--stop-after", *settings.stop_after, 0);
  if (steps < done) {
    throw UsageError(
        fmt::format("--steps must be at least the {} updates that are done: got {}", done, steps));
  }
}

// One call of run_training.
template <class T>
class Run {
 public:
  Run(Trainer<T>& trainer, const RunSettings& settings, RunObserver& observer)
      : trainer_(trainer),
        state_(trainer.state()),
        settings_(settings),
        observer_(observer),
        steps_(trainer.settings().steps) {
    check(settings, steps_, state_.step);
    end_.last.step = state_.step;
  }

  RunEnd go() {
    if (state_.evaluations.empty() && !evaluate()) return end_;
    for (;;) {
      const std::optional<RunOutcome> over = outcome();
      if (over) {
        if (*over == RunOutcome::kFinished && !evaluated() && !evaluate()) return end_;
        if (save()) end_.outcome = *over;
        return end_;
      }
      if (state_.step > start_ && due(settings_.save_every) && !save()) return end_;
      if (!step()) return end_;
    }
  }

 private:
  bool due(Index every) const { return every > 0 && state_.step % every == 0; }
  bool evaluated() const { return state_.evaluations.back().step == state_.step; }

  std::optional<RunOutcome> outcome() {
    if (state_.step >= steps_) return RunOutcome::kFinished;
    if (settings_.patience > 0 &&
        evaluations_since_best(state_.evaluations) >= settings_.patience) {
      return RunOutcome::kEarlyStopped;
    }
    if (settings_.stop_after && state_.step >= *settings_.stop_after) return RunOutcome::kStopped;
    if (observer_.stop_requested()) return RunOutcome::kStopped;
    return std::nullopt;
  }

  // These three are false where the run diverged.

  bool step() {
    end_.last = trainer_.step();
    if (!end_.last.finite()) return diverged(*end_.last.fault);
    observer_.on_step(end_.last);
    return !(due(settings_.eval_every) || state_.step == steps_) || evaluate();
  }

  bool evaluate() {
    trainer_.evaluate();
    const std::vector<EvaluationPoint>& all = state_.evaluations;
    const bool best = evaluations_since_best(all) == 0;
    observer_.on_evaluation(all.back(), best);
    if (const auto fault = trainer_.fault()) return diverged(*fault);
    const double uniform = std::log(static_cast<double>(trainer_.model().config().vocab_size));
    if (state_.step == 0 &&
        far_from_uniform(all.back().loss, trainer_.model().config().vocab_size)) {
      observer_.on_unusual_start(all.back().loss, uniform);
    }
    if (best) observer_.save_best();
    return true;
  }

  bool save() {
    if (const auto fault = trainer_.fault()) return diverged(*fault);
    observer_.save();
    return true;
  }

  bool diverged(const Fault& fault) {
    end_.outcome = RunOutcome::kDiverged;
    end_.fault = fault;
    return false;
  }

  Trainer<T>& trainer_;
  TrainingState<T>& state_;
  const RunSettings& settings_;
  RunObserver& observer_;
  Index steps_;
  Index start_ = state_.step;
  RunEnd end_;
};

}  // namespace

template <class T>
RunEnd run_training(Trainer<T>& trainer, const RunSettings& settings, RunObserver& observer) {
  return Run<T>(trainer, settings, observer).go();
}

bool far_from_uniform(double loss, Index vocab_size) {
  constexpr double kFar = 0.5;
  return !(std::abs(loss - std::log(static_cast<double>(vocab_size))) <= kFar);
}

template RunEnd run_training(Trainer<float>&, const RunSettings&, RunObserver&);
template RunEnd run_training(Trainer<double>&, const RunSettings&, RunObserver&);

}  // namespace attn
