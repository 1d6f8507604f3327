#include "train/trainer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/parallel.h"
#include "ops/vector.h"

namespace attn {
namespace {

void check(const TrainerSettings& settings) {
  const AdamWSettings& a = settings.adamw;
  const auto in_range = [](const char* option, double value, bool holds, const char* wanted) {
    if (!std::isfinite(value) || !holds) {
      throw UsageError(fmt::format("{} must be {}: got {}", option, wanted, value));
    }
  };
  in_range("--lr", a.lr, a.lr >= 0, "a number of at least 0");
  in_range("--beta1", a.beta1, a.beta1 >= 0 && a.beta1 < 1, "at least 0 and below 1");
  in_range("--beta2", a.beta2, a.beta2 >= 0 && a.beta2 < 1, "at least 0 and below 1");
  in_range("--eps", a.eps, a.eps >= 0, "a number of at least 0");
  in_range("--weight-decay", a.weight_decay, a.weight_decay >= 0, "a number of at least 0");
  if (settings.batch < 1) {
    throw UsageError(fmt::format("--batch must be at least 1: got {}", settings.batch));
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
      gradients_(static_cast<std::size_t>(model.params().size())) {
  check(settings);
  const ModelConfig& config = model.config();
  if (data.vocab_size() > config.vocab_size) {
    throw UsageError(fmt::format("--vocab-size must cover the data: {} is less than {}",
                                 config.vocab_size, data.vocab_size()));
  }
  const auto longest = config.longest_sequence();
  if (longest && data.seq_len() > *longest) {
    throw UsageError(
        fmt::format("--max-positions must reach the data's sequences: {} is less than {}", *longest,
                    data.seq_len()));
  }
  if (state_.m.empty() && state_.v.empty()) {
    state_.m.resize(gradients_.size());
    state_.v.resize(gradients_.size());
  }
  require_shape(state_.m.size() == gradients_.size() && state_.v.size() == gradients_.size(),
                "trainer: moments of another model");
  require_shape(state_.step >= 0, "trainer: negative step");
}

template <class T>
StepReport Trainer<T>::step() {
  const Batch batch = data_.training_batch(state_.step, settings_.batch);
  StepReport report;
  report.lr = settings_.adamw.lr;
  report.loss = gradient_.compute(batch, gradients_.data());
  const Index count = model_.params().size();
  report.gradient_norm = std::sqrt(sum_of_squares<T>(gradients_.data(), count));
  report.finite = std::isfinite(report.loss) && std::isfinite(report.gradient_norm);
  report.step = state_.step;
  if (!report.finite) return report;

  // Each number's update is its own, so the cut into blocks changes no bit.
  constexpr Index kBlock = Index{1} << 16;
  T* values = model_.params().values();
  parallel_for((count + kBlock - 1) / kBlock, settings_.threads, [&](Index block, int) {
    const Index first = block * kBlock;
    adamw_update<T>(settings_.adamw, state_.step + 1, gradients_.data() + first,
                    state_.m.data() + first, state_.v.data() + first, values + first,
                    std::min(kBlock, count - first));
  });
  state_.step += 1;
  state_.losses.push_back(report.loss);
  report.step = state_.step;
  return report;
}

template <class T>
Evaluation Trainer<T>::evaluate() {
  const Evaluation found = gradient_.evaluate(data_.evaluation_batch());
  state_.evaluations.push_back({state_.step, found.loss, found.accuracy});
  return found;
}

template <class T>
bool Trainer<T>::sound() const {
  const T* values = model_.params().values();
  return !state_.evaluations.empty() && std::isfinite(state_.evaluations.back().loss) &&
         std::all_of(values, values + model_.params().size(),
                     [](T value) { return std::isfinite(value); });
}

template class Trainer<float>;
template class Trainer<double>;

}  // namespace attn
