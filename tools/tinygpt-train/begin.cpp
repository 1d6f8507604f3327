#include "tinygpt-train/begin.h"

#include <algorithm>
#include <utility>

#include "model/convert_heads.h"
#include "tinygpt-train/earlier.h"
#include "train/batch_gradient.h"

namespace attn {
namespace {

// The same parameters in a model that is told other sequences.
void copy_parameters(const Transformer<float>& from, Transformer<float>& to) {
  const float* values = from.params().values();
  std::copy(values, values + from.params().size(), to.params().values());
}

}  // namespace

std::unique_ptr<Transformer<float>> begin_model(const TrainOptions& options, TrainingPlan& plan) {
  if (!options.resume.empty()) return std::move(options.earlier->checkpoint.model);
  auto model = std::make_unique<Transformer<float>>(plan.config);
  if (options.earlier == nullptr) {
    model->params().initialise(static_cast<std::uint64_t>(options.seed),
                               *parse_enum<InitScheme>(plan.settings.init));
    return model;
  }
  const Transformer<float>& earlier = *options.earlier->checkpoint.model;
  if (plan.config.kv_heads == options.earlier->config.kv_heads) {
    copy_parameters(earlier, *model);
    return model;
  }
  BatchGradient<float> gradient(earlier, plan.settings.trainer.threads);
  PooledLosses& pooled = plan.settings.pooled.emplace();
  pooled.before = gradient.evaluate(plan.task.data->evaluation_batch()).loss;
  pooled.later_step = uptraining_updates(options.earlier->step);
  copy_parameters(*pool_kv_heads(earlier, plan.config.kv_heads), *model);
  return model;
}

TrainingState<float> begin_state(const TrainOptions& options, const TrainingPlan& plan) {
  TrainingState<float> state;
  if (!options.resume.empty()) state = std::move(*options.earlier->checkpoint.training);
  state.settings = to_list(plan.settings);
  return state;
}

}  // namespace attn
