#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/index.h"

namespace attn {

/// A setting of a run, as an attribute of /training.
using Setting = std::variant<Index, double, std::string>;
using SettingList = std::vector<std::pair<std::string, Setting>>;

/// As messages show it: text escaped, so that a file's cannot steer a terminal.
std::string setting_text(const Setting& value);

/// One evaluation during training, over sequences held out.
struct EvaluationPoint {
  Index step = 0;  // updates done
  double loss = 0;
  double accuracy = 0;  // share of judged targets
  double exact = 0;     // share of sequences that are right in all of them
  /// Over fixed sequences of the training part, where there are such.
  std::optional<double> sample_loss = std::nullopt;

  bool operator==(const EvaluationPoint&) const = default;
};

/// The evaluation of least loss, the first of equals; null where there is none.
const EvaluationPoint* best_evaluation(const std::vector<EvaluationPoint>& evaluations);
/// Evaluations after the best.
Index evaluations_since_best(const std::vector<EvaluationPoint>& evaluations);

/// Norm of each parameter's gradient, before clipping, in each update that was asked for it.
struct GradientLog {
  std::vector<Index> updates;  // counted from 1
  std::vector<double> norms;   // (update, parameter), parameters in the order of the layout

  bool operator==(const GradientLog&) const = default;
};

/// All that training needs to go on, beside the parameters. What else a run has to know follows:
/// its batches and dropout from step and seed, its best from the evaluations.
template <class T>
struct TrainingState {
  Index step = 0;              // updates done; the next one draws its batch from this number
  std::vector<double> losses;  // of each update's own batch, before it
  std::vector<EvaluationPoint> evaluations;
  std::vector<T> m, v;  // AdamW's moments, in the layout of the parameters
  GradientLog gradient_log;
  SettingList settings;  // of the run (train/training_settings.h)
};

}  // namespace attn
