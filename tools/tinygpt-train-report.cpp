#include "tinygpt-train-report.h"

#include <fmt/core.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "cli/json.h"
#include "cli/picture.h"
#include "cli/table.h"
#include "core/text.h"

namespace attn {
namespace {

cli::Json json_report(const Task& task, const ModelConfig& config,
                      const TrainingState<float>& state, const Outcome& outcome) {
  cli::Json document;
  document["task"] = task.name;
  document["parameters"] = count_parameters(config).total;
  document["steps"] = state.step;
  document[task.yardstick_name] = cli::json_number(task.yardstick);
  const EvaluationPoint& end = state.evaluations.back();
  document["loss"] = cli::json_number(outcome.last.finite() ? end.loss : outcome.last.loss);
  document["accuracy"] = cli::json_number(end.accuracy);
  document["diverged"] = outcome.diverged;
  document["evaluations"] = cli::Json::array();
  for (const EvaluationPoint& point : state.evaluations) {
    document["evaluations"].push_back({{"step", point.step},
                                       {"loss", cli::json_number(point.loss)},
                                       {"accuracy", cli::json_number(point.accuracy)}});
  }
  return document;
}

void text_report(const Task& task, const TrainingState<float>& state, cli::Report& report) {
  using Align = cli::Table::Align;
  cli::Table table({{"step", Align::kRight}, {"loss", Align::kRight}, {"accuracy", Align::kRight}});
  for (const EvaluationPoint& point : state.evaluations) {
    table.add({fmt::format("{}", point.step), fmt::format("{:.4f}", point.loss),
               fmt::format("{:.4f}", point.accuracy)});
  }
  report.write(table.text());
  const EvaluationPoint& end = state.evaluations.back();
  report.print("\nafter step {}, over {}:\n", end.step, task.evaluated_over);
  report.print("loss      {:.5f}\n", end.loss);
  report.print("{:<10}{:.5f}  ({})\n", task.yardstick_name, task.yardstick, task.yardstick_about);
  if (task.name == "text") {
    report.print("          perplexity {:.3f}, {:.3f} bits per character\n", std::exp(end.loss),
                 end.loss / std::log(2.0));
    report.print("accuracy  {:.4f}\n", end.accuracy);
  } else {
    report.print("accuracy  {:.4f}  (from the third token on)\n", end.accuracy);
  }
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
  chart.curves = {
      updates, evaluations, {task.yardstick_name, {task.yardstick, task.yardstick}, {0, last}}};
  session.report().write("\n" + cli::chart(chart, session.terminal()));
}

}  // namespace

void report_sizes(const ModelConfig& config, Index batch, int threads, cli::Format format,
                  cli::Report& report) {
  const ParameterCounts counts = count_parameters(config);
  const std::vector<std::pair<std::string, Index>> parts = {
      {"tokens", counts.tokens}, {"positions", counts.positions}, {"attention", counts.attention},
      {"mlp", counts.mlp},       {"norms", counts.norms},         {"head", counts.head},
      {"total", counts.total},   {"block", counts.block}};
  const double per_token = forward_flops_per_token(config, config.seq_len);
  const double per_step = 3 * per_token * static_cast<double>(batch * config.seq_len);
  const TrainingMemory memory = training_memory(config, config.seq_len, batch, threads);
  const std::vector<std::pair<std::string, Index>> shares = {{"parameters", memory.parameters},
                                                             {"gradients", memory.gradients},
                                                             {"optimizer", memory.optimizer},
                                                             {"activations", memory.activations},
                                                             {"total", memory.total}};
  if (format == cli::Format::kJson) {
    cli::Json document;
    for (const auto& [part, count] : parts) document["parameters"][part] = count;
    document["flops"]["forward_per_token"] = per_token;
    document["flops"]["training_step"] = per_step;
    for (const auto& [share, bytes] : shares) document["memory"][share] = bytes;
    report.write(cli::json_text(document));
    return;
  }
  using Align = cli::Table::Align;
  cli::Table parameters({{"parameters", Align::kLeft}, {"count", Align::kRight}});
  for (const auto& [part, count] : parts) {
    parameters.add({part == "block" ? "(one block)" : part, grouped(count)});
  }
  report.write(parameters.text());
  report.print("\nFLOPs: {:.4g} per token forward, {:.4g} a training step of {} tokens\n\n",
               per_token, per_step, grouped(batch * config.seq_len));
  cli::Table bytes({{"memory of a step", Align::kLeft}, {"size", Align::kRight}});
  for (const auto& [share, size] : shares) bytes.add({share, size_text(size)});
  report.write(bytes.text());
}

void report_training(const Task& task, const ModelConfig& config, const TrainingState<float>& state,
                     const Outcome& outcome, cli::Format format, bool show, cli::Session& session) {
  if (format == cli::Format::kJson) {
    session.report().write(cli::json_text(json_report(task, config, state, outcome)));
  } else if (!outcome.diverged) {
    text_report(task, state, session.report());
    if (show) draw_losses(task, state, session);
  }
}

}  // namespace attn
