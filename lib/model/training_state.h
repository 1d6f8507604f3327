#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/index.h"

namespace attn {

/// A setting of a run, as an attribute of /training.
using Setting = std::variant<Index, double, std::string>;

/// One evaluation during training.
struct EvaluationPoint {
  Index step = 0;  // updates done
  double loss = 0;
  double accuracy = 0;
};

/// All that training needs to go on, beside the parameters.
template <class T>
struct TrainingState {
  Index step = 0;              // updates done; the next one draws its batch from this number
  std::vector<double> losses;  // of each update's own batch, before it
  std::vector<EvaluationPoint> evaluations;
  std::vector<T> m, v;  // AdamW's moments, in the layout of the parameters
  std::vector<std::pair<std::string, Setting>> settings;  // written, not read back
};

}  // namespace attn
