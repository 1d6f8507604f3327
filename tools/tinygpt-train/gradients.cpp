#include "tinygpt-train/gradients.h"

#include <fmt/core.h>

#include <cmath>

#include "cli/table.h"

namespace attn {
namespace {

// "decoder.blocks.0" of "decoder.blocks.0.attn.q_proj.weight"; the layer's name outside of blocks.
std::string group_name(const std::string& parameter) {
  const std::size_t blocks = parameter.find("blocks.");
  if (blocks == std::string::npos) return parameter.substr(0, parameter.rfind('.'));
  return parameter.substr(0, parameter.find('.', blocks + 7));
}

std::string norm_text(double norm) {
  return norm > 0 ? fmt::format("{:.3e}", norm) : "";
}

}  // namespace

std::vector<GradientNorms> gradient_norms(const GradientLog& log, std::size_t update,
                                          const std::vector<ParamInfo>& layout) {
  std::vector<GradientNorms> found;  // squared at first
  for (std::size_t i = 0; i < layout.size(); ++i) {
    const std::string& parameter = layout[i].name;
    const std::string name = group_name(parameter);
    if (found.empty() || found.back().name != name) found.push_back({name});
    GradientNorms& group = found.back();
    const double norm = log.norms[update * layout.size() + i];
    group.all += norm * norm;
    if (parameter.ends_with("out_proj.weight")) group.attention += norm * norm;
    if (parameter.ends_with("fc2.weight") || parameter.ends_with("down_proj.weight")) {
      group.mlp += norm * norm;
    }
  }
  for (GradientNorms& group : found) {
    for (double* norm : {&group.all, &group.attention, &group.mlp}) *norm = std::sqrt(*norm);
  }
  return found;
}

std::string gradient_table(const GradientLog& log, const std::vector<ParamInfo>& layout) {
  if (log.updates.empty()) return "";
  using Align = cli::Table::Align;
  std::vector<std::size_t> shown = {0};
  if (log.updates.size() > 1) shown.push_back(log.updates.size() - 1);
  std::vector<cli::Table::Column> columns = {{"gradient norm", Align::kLeft}};
  std::vector<std::vector<GradientNorms>> norms;
  for (const std::size_t update : shown) {
    columns.push_back({fmt::format("update {}", log.updates[update]), Align::kRight});
    columns.push_back({"attn out", Align::kRight});
    columns.push_back({"mlp out", Align::kRight});
    norms.push_back(gradient_norms(log, update, layout));
  }
  cli::Table table(columns);
  for (std::size_t i = 0; i < norms.front().size(); ++i) {
    std::vector<std::string> cells = {norms.front()[i].name};
    for (const std::vector<GradientNorms>& update : norms) {
      cells.push_back(norm_text(update[i].all));
      cells.push_back(norm_text(update[i].attention));
      cells.push_back(norm_text(update[i].mlp));
    }
    table.add(cells);
  }
  return table.text();
}

}  // namespace attn
