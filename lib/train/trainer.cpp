#include "train/trainer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/parallel.h"
#include "ops/vector.h"

namespace attn {
namespace {

// Each number's update is its own, so the cut into runs changes no bit.
constexpr Index kLongestRun = Index{1} << 16;

void check_data(const DataSource& data, const ModelConfig& config) {
  const auto covers = [](const char* option, Index size, Index needed) {
    if (size < needed) {
      throw UsageError(
          fmt::format("{} must cover the data: {} is less than {}", option, size, needed));
    }
  };
  covers("--vocab-size", config.vocab_size, data.vocab_size());
  const bool reads_source = config.arch == Arch::kEncoderDecoder;
  if (reads_source != (data.source_len() > 0)) {
    throw UsageError(fmt::format("--arch {} and the data do not fit: the data have {} source",
                                 enum_name(config.arch), reads_source ? "no" : "a"));
  }
  if (reads_source) {
    covers("--source-vocab-size", config.source_vocab_size, data.source_vocab_size());
  }
  const auto longest = config.longest_sequence();
  const Index needed = std::max(data.seq_len(), data.source_len());
  if (longest && needed > *longest && config.position != Position::kLearned) {
    throw UsageError(fmt::format("{}, the data's sequences have {} tokens",
                                 config.longest_sequence_reason(), needed));
  }
  if (longest && needed > *longest) {
    throw UsageError(fmt::format(
        "--max-positions must reach the data's sequences: {} is less than {}", *longest, needed));
  }
}

}  // namespace

template <class T>
Trainer<T>::Trainer(Transformer<T>& model, const DataSource& data, const TrainerSettings& settings,
                    TrainingState<T> state)
    : model_(model),
      data_(data),
      settings_(settings),
      state_(std::move(state)),
      gradient_(model, settings.threads),
      gradients_(static_cast<std::size_t>(model.params().size())),
      runs_(decay_runs(model.params().list(), settings.decay, kLongestRun)) {
  settings.validate();
  check_data(data, model.config());
  if (state_.m.empty() && state_.v.empty()) {
    state_.m.resize(gradients_.size());
    state_.v.resize(gradients_.size());
  }
  require_shape(state_.m.size() == gradients_.size() && state_.v.size() == gradients_.size(),
                "trainer: moments of another model");
  require_shape(state_.gradient_log.norms.size() ==
                    state_.gradient_log.updates.size() * model.params().list().size(),
                "trainer: gradient norms of another model");
  require_shape(state_.step >= 0, "trainer: negative step");
}

template <class T>
StepReport Trainer<T>::step() {
  const Batch batch = data_.training_batch(state_.step, settings_.sequences());
  GradientOptions options;
  options.dropout = {settings_.dropout, settings_.seed, state_.step, 0};
  options.label_smoothing = settings_.label_smoothing;
  StepReport report;
  report.lr = settings_.rates().rate(state_.step);
  report.loss = gradient_.compute(batch, gradients_.data(), options);
  report.gradient_norm = std::sqrt(sum_of_squares<T>(gradients_.data(), model_.params().size()));
  report.step = state_.step;
  if (!std::isfinite(report.loss) || !std::isfinite(report.gradient_norm)) {
    report.fault = name_fault(report.loss);
    return report;
  }
  if (settings_.log_gradients) log_gradients();
  // As PyTorch's clip_grad_norm_, its 1e-6 too.
  const double factor = settings_.clip > 0 ? settings_.clip / (report.gradient_norm + 1e-6) : 1.0;
  update(report.lr, std::min(factor, 1.0));
  state_.step += 1;
  state_.losses.push_back(report.loss);
  report.step = state_.step;
  return report;
}

template <class T>
void Trainer<T>::update(double lr, double factor) {
  AdamWSettings decayed = settings_.adamw;
  decayed.lr = lr;
  AdamWSettings undecayed = decayed;
  undecayed.weight_decay = 0;
  T* values = model_.params().values();
  parallel_for(static_cast<Index>(runs_.size()), settings_.threads, [&](Index which, int) {
    const DecayRun& run = runs_[static_cast<std::size_t>(which)];
    T* gradient = gradients_.data() + run.first;
    if (factor < 1) scale<T>(static_cast<T>(factor), gradient, run.count);
    adamw_update<T>(run.decayed ? decayed : undecayed, state_.step + 1, gradient,
                    state_.m.data() + run.first, state_.v.data() + run.first, values + run.first,
                    run.count);
  });
}

template <class T>
void Trainer<T>::log_gradients() {
  GradientLog& log = state_.gradient_log;
  log.updates.push_back(state_.step + 1);
  for (const ParamInfo& info : model_.params().list()) {
    log.norms.push_back(
        std::sqrt(sum_of_squares<T>(gradients_.data() + info.place.offset, info.place.size())));
  }
}

template <class T>
Fault Trainer<T>::name_fault(double loss) const {
  Fault fault;
  fault.what = std::isfinite(loss) ? Fault::What::kGradient : Fault::What::kLoss;
  const ParamInfo* info = first_not_finite<T>(model_.params(), model_.params().values());
  fault.in_values = info != nullptr;
  if (info == nullptr) info = first_not_finite<T>(model_.params(), gradients_.data());
  if (info != nullptr) fault.parameter = info->name;
  return fault;
}

template <class T>
Evaluation Trainer<T>::evaluate() {
  const Evaluation found = gradient_.evaluate(data_.evaluation_batch());
  EvaluationPoint point;
  point.step = state_.step;
  point.loss = found.loss;
  point.accuracy = found.accuracy;
  point.exact = found.exact;
  if (const Batch* sample = data_.training_sample()) {
    point.sample_loss = gradient_.evaluate(*sample).loss;
  }
  state_.evaluations.push_back(point);
  return found;
}

template <class T>
std::optional<Fault> Trainer<T>::fault() const {
  const ParamStore<T>& params = model_.params();
  if (const ParamInfo* info = first_not_finite<T>(params, params.values())) {
    return Fault{Fault::What::kParameter, info->name, true};
  }
  for (const std::vector<T>* moment : {&state_.m, &state_.v}) {
    if (const ParamInfo* info = first_not_finite<T>(params, moment->data())) {
      return Fault{Fault::What::kMoment, info->name, false};
    }
  }
  if (!state_.evaluations.empty() && !std::isfinite(state_.evaluations.back().loss)) {
    return Fault{Fault::What::kLoss, "", false};
  }
  return std::nullopt;
}

template class Trainer<float>;
template class Trainer<double>;

}  // namespace attn
