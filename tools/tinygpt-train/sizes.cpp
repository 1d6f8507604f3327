#include "tinygpt-train/sizes.h"

#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/json.h"
#include "cli/table.h"
#include "core/text.h"
#include "model/transformer.h"
#include "train/decay.h"

namespace attn {

void report_sizes(const ModelConfig& config, const TrainerSettings& settings, Index source_len,
                  cli::Format format, cli::Report& report) {
  const ParameterCounts counts = count_parameters(config);
  const std::vector<std::pair<std::string, Index>> parts = {
      {"tokens", counts.tokens}, {"positions", counts.positions}, {"attention", counts.attention},
      {"mlp", counts.mlp},       {"norms", counts.norms},         {"head", counts.head},
      {"total", counts.total},   {"block", counts.block}};
  const DecayCounts decay = count_decayed(parameter_layout(config), settings.decay);
  const Index batch = settings.sequences();
  const Index tokens = batch * config.seq_len;
  const double per_token = forward_flops_per_token(config, config.seq_len, source_len);
  const double per_step = 3 * per_token * static_cast<double>(tokens);
  const TrainingMemory memory =
      training_memory(config, config.seq_len, batch, settings.threads, source_len);
  const std::vector<std::pair<std::string, Index>> shares = {{"parameters", memory.parameters},
                                                             {"gradients", memory.gradients},
                                                             {"optimizer", memory.optimizer},
                                                             {"activations", memory.activations},
                                                             {"total", memory.total}};
  if (format == cli::Format::kJson) {
    cli::Json document;
    for (const auto& [part, count] : parts) document["parameters"][part] = count;
    document["decay"]["decayed"] = decay.decayed;
    document["decay"]["not_decayed"] = decay.undecayed;
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
  report.print("\ndecay: {} in {} tensors, {} in {} not\n", grouped(decay.decayed),
               decay.decayed_tensors, grouped(decay.undecayed), decay.undecayed_tensors);
  report.print("FLOPs: {:.4g} per token forward, {:.4g} a training step of {} tokens\n\n",
               per_token, per_step, grouped(tokens));
  cli::Table bytes({{"memory of a step", Align::kLeft}, {"size", Align::kRight}});
  for (const auto& [share, size] : shares) bytes.add({share, size_text(size)});
  report.write(bytes.text());
}

}  // namespace attn
