#include "tinygpt-train/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cli/json.h"
#include "cli/picture.h"
#include "cli/table.h"
#include "core/text.h"
#include "tinygpt-train/gradients.h"

namespace attn {
namespace {

bool is_sampled(const TrainingState<float>& state) {
  return state.evaluations.front().sample_loss.has_value();
}

const char* outcome_name(RunOutcome outcome) {
  switch (outcome) {
    case RunOutcome::kFinished:
      return "finished";
    case RunOutcome::kEarlyStopped:
      return "early stopped";
    case RunOutcome::kStopped:
      return "stopped";
    case RunOutcome::kDiverged:
      return "diverged";
  }
  return "";
}

// What a loss of text comes to in the field's other words.
void put_text_measures(const Task& task, double loss, cli::Json& into) {
  if (!task.data_digest.empty()) into["perplexity"] = cli::json_number(std::exp(loss));
  std::string bits = bits_per(task);
  if (bits.empty()) return;
  std::replace(bits.begin(), bits.end(), ' ', '_');
  into[bits] = cli::json_number(loss / std::log(2.0));
}

// Null where no heads were pooled.
const PooledLosses* pooled_of(const TrainingResult& result) {
  const auto& pooled = result.plan.settings.pooled;
  return pooled ? &*pooled : nullptr;
}

cli::Json json_pooled(const PooledLosses& pooled, const TrainingState<float>& state) {
  cli::Json losses;
  losses["loss_before"] = cli::json_number(pooled.before);
  losses["loss_after"] = cli::json_number(state.evaluations.front().loss);
  if (pooled.later) {
    losses["later_step"] = pooled.later_step;
    losses["loss_later"] = cli::json_number(*pooled.later);
  }
  return losses;
}

// Of the first update that was logged.
cli::Json json_gradients(const GradientLog& log, const std::vector<ParamInfo>& layout) {
  cli::Json found;
  found["update"] = log.updates.front();
  found["blocks"] = cli::Json::array();
  for (const GradientNorms& group : gradient_norms(log, 0, layout)) {
    cli::Json one = {{"name", group.name}, {"norm", cli::json_number(group.all)}};
    if (group.attention > 0) one["attention_out"] = cli::json_number(group.attention);
    if (group.mlp > 0) one["mlp_out"] = cli::json_number(group.mlp);
    found["blocks"].push_back(one);
  }
  return found;
}

cli::Json json_evaluation(const Task& task, const EvaluationPoint& point) {
  cli::Json one = {{"step", point.step},
                   {"loss", cli::json_number(point.loss)},
                   {"accuracy", cli::json_number(judged_accuracy(task, point))},
                   {"exact", cli::json_number(point.exact)}};
  if (point.sample_loss) one["train_loss"] = cli::json_number(*point.sample_loss);
  put_text_measures(task, point.loss, one);
  return one;
}

cli::Json json_report(const TrainingResult& result) {
  const Task& task = result.plan.task;
  const TrainingState<float>& state = result.trainer.state();
  const EvaluationPoint& end = state.evaluations.back();
  const RunEnd& run = result.end;
  const bool diverged = run.outcome == RunOutcome::kDiverged;
  cli::Json document;
  document["task"] = task.name;
  document["parameters"] = result.trainer.model().params().size();
  document["steps"] = state.step;
  if (!task.yardstick_name.empty()) {
    document[task.yardstick_name] = cli::json_number(task.yardstick);
  }
  document["loss"] = cli::json_number(run.last.finite() ? end.loss : run.last.loss);
  if (run.last.finite()) put_text_measures(task, end.loss, document);
  document["accuracy"] = cli::json_number(judged_accuracy(task, end));
  document["diverged"] = diverged;
  document["outcome"] = outcome_name(run.outcome);
  if (run.fault) document["fault"] = run.fault->text();
  if (task.wanted) document["wanted_accuracy"] = *task.wanted;
  const EvaluationPoint* best = best_evaluation(state.evaluations);
  if (best != nullptr) {
    document["best"] = {{"step", best->step}, {"loss", cli::json_number(best->loss)}};
  }
  if (const PooledLosses* pooled = pooled_of(result)) {
    document["pooled"] = json_pooled(*pooled, state);
  }
  if (!state.gradient_log.updates.empty()) {
    document["gradient_norms"] =
        json_gradients(state.gradient_log, result.trainer.model().params().list());
  }
  document["update_losses"] = cli::Json::array();
  for (const double loss : state.losses) {
    document["update_losses"].push_back(cli::json_number(loss));
  }
  document["evaluations"] = cli::Json::array();
  for (const EvaluationPoint& point : state.evaluations) {
    document["evaluations"].push_back(json_evaluation(task, point));
  }
  return document;
}

std::string evaluation_table(const Task& task, const TrainingState<float>& state) {
  using Align = cli::Table::Align;
  std::vector<cli::Table::Column> columns = {{"step", Align::kRight}, {"loss", Align::kRight}};
  const bool sampled = is_sampled(state);
  if (sampled) columns.push_back({"train", Align::kRight});
  columns.push_back({"accuracy", Align::kRight});
  cli::Table table(columns);
  for (const EvaluationPoint& point : state.evaluations) {
    std::vector<std::string> cells = {fmt::format("{}", point.step),
                                      fmt::format("{:.4f}", point.loss)};
    if (sampled) {
      cells.push_back(point.sample_loss ? fmt::format("{:.4f}", *point.sample_loss) : "");
    }
    cells.push_back(fmt::format("{:.4f}", judged_accuracy(task, point)));
    table.add(cells);
  }
  return table.text();
}

void print_pooled(const PooledLosses& pooled, const TrainingState<float>& state,
                  cli::Report& report) {
  report.print("\nheld-out loss before pooling  {:.5f}\n", pooled.before);
  report.print("after pooling                 {:.5f}\n", state.evaluations.front().loss);
  if (pooled.later) {
    report.print("{:<30}{:.5f}  (5 % of the earlier run's updates)\n",
                 fmt::format("after {} updates", pooled.later_step), *pooled.later);
  }
}

void text_report(const TrainingResult& result, cli::Report& report) {
  const Task& task = result.plan.task;
  const TrainingState<float>& state = result.trainer.state();
  report.write(evaluation_table(task, state));
  const EvaluationPoint& end = state.evaluations.back();
  report.print("\nafter step {}, over {}:\n", end.step, task.evaluated_over);
  report.print("loss      {:.5f}\n", end.loss);
  if (!task.yardstick_name.empty()) {
    report.print("{:<10}{:.5f}  ({})\n", task.yardstick_name, task.yardstick, task.yardstick_about);
  }
  if (!task.data_digest.empty()) {
    report.print("          perplexity {:.3f}", std::exp(end.loss));
    const std::string bits = bits_per(task);
    if (!bits.empty()) report.print(", {:.3f} {}", end.loss / std::log(2.0), bits);
    report.write("\n");
  }
  std::string about = task.accuracy_about;
  if (task.wanted) {
    about += fmt::format("{}{:.4f} must be reached", about.empty() ? "" : "; ", *task.wanted);
  }
  report.print("accuracy  {:.4f}{}\n", judged_accuracy(task, end),
               about.empty() ? "" : fmt::format("  ({})", about));
  const EvaluationPoint* best = best_evaluation(state.evaluations);
  if (best != nullptr && best->step != end.step) {
    report.print("best      {:.5f}  (after step {})\n", best->loss, best->step);
  }
  if (result.end.outcome == RunOutcome::kEarlyStopped) {
    report.print("\nended early: no evaluation of the last {} was better\n",
                 result.plan.settings.patience);
  }
  if (const PooledLosses* pooled = pooled_of(result)) print_pooled(*pooled, state, report);
  const std::string gradients =
      gradient_table(state.gradient_log, result.trainer.model().params().list());
  if (!gradients.empty()) report.write("\n" + gradients);
}

// The loss of every update and of every evaluation, over the line they cannot pass or must.
void draw_losses(const Task& task, const TrainingState<float>& state, cli::Session& session) {
  cli::Chart chart;
  chart.title = "loss";
  chart.x_is = "step";
  cli::Curve updates{"of an update's batch", state.losses};
  for (std::size_t i = 0; i < state.losses.size(); ++i) {
    updates.x.push_back(static_cast<double>(i + 1));
  }
  cli::Curve evaluations{"over " + task.evaluated_over, {}, {}};
  for (const EvaluationPoint& point : state.evaluations) {
    evaluations.x.push_back(static_cast<double>(point.step));
    evaluations.y.push_back(point.loss);
  }
  const auto last = static_cast<double>(state.step);
  chart.curves = {updates, evaluations};
  if (!task.yardstick_name.empty()) {
    chart.curves.push_back({task.yardstick_name, {task.yardstick, task.yardstick}, {0, last}});
  }
  session.report().write("\n" + cli::chart(chart, session.terminal()));
}

}  // namespace

void note_beginning(const TrainingPlan& plan, const Transformer<float>& model,
                    const cli::Session& session) {
  const Task& task = plan.task;
  const DecayCounts decay = count_decayed(model.params().list(), plan.settings.trainer.decay);
  std::string line =
      fmt::format("{}; {} parameters, {} of them decay and {} do not", task.about,
                  grouped(model.params().size()), grouped(decay.decayed), grouped(decay.undecayed));
  if (!task.yardstick_name.empty()) {
    line += fmt::format("; {} {:.5f}", task.yardstick_name, task.yardstick);
  }
  session.note(line);
  const TrainerSettings& trainer = plan.settings.trainer;
  if (trainer.warmup > trainer.steps) {
    session.warn(fmt::format("--warmup {} is more than the {} updates: the rate never gets to --lr",
                             trainer.warmup, trainer.steps));
  }
}

void report_training(const TrainingResult& result, cli::Format format, bool show,
                     cli::Session& session) {
  if (format == cli::Format::kJson) {
    session.report().write(cli::json_text(json_report(result)));
  } else if (result.end.outcome != RunOutcome::kDiverged) {
    text_report(result, session.report());
    if (show) draw_losses(result.plan.task, result.trainer.state(), session);
  }
}

}  // namespace attn
