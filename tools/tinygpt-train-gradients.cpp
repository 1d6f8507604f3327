#include "tinygpt-train-gradients.h"

#include <fmt/core.h>

#include <cmath>

#include "cli/table.h"
#include "core/index.h"

namespace attn {
namespace {

// The squared norms of a block's parameters, or of what stands outside all blocks.
struct Group {
  std::string name;
  double all = 0;
  double attention = 0;  // out_proj.weight, of both attentions
  double mlp = 0;        // fc2.weight or down_proj.weight
};

// "decoder.blocks.0" of "decoder.blocks.0.attn.q_proj.weight"; the layer's name outside of blocks.
std::string group_name(const std::string& parameter) {
  const std::size_t blocks = parameter.find("blocks.");
  if (blocks == std::string::npos) return parameter.substr(0, parameter.rfind('.'));
  return parameter.substr(0, parameter.find('.', blocks + 7));
}

std::vector<Group> groups(const GradientLog& log, std::size_t update,
                          const std::vector<ParamInfo>& layout) {
  std::vector<Group> found;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    const std::string& parameter = layout[i].name;
    const std::string name = group_name(parameter);
    if (found.empty() || found.back().name != name) found.push_back({name});
    Group& group = found.back();
    const double norm = log.norms[update * layout.size() + i];
    group.all += norm * norm;
    if (parameter.ends_with("out_proj.weight")) group.attention += norm * norm;
    if (parameter.ends_with("fc2.weight") || parameter.ends_with("down_proj.weight")) {
      group.mlp += norm * norm;
    }
  }
  return found;
}

std::string norm_text(double squared) {
  return squared > 0 ? fmt::format("{:.3e}", std::sqrt(squared)) : "";
}

}  // namespace

std::string gradient_table(const GradientLog& log, const std::vector<ParamInfo>& layout) {
  if (log.updates.empty()) return "";
  using Align = cli::Table::Align;
  const Index first = log.updates.front();
  const Index last = log.updates.back();
  const std::string end = fmt::format("update {}", last);
  cli::Table table({{"gradient norm", Align::kLeft},
                    {fmt::format("update {}", first), Align::kRight},
                    {"attn out", Align::kRight},
                    {"mlp out", Align::kRight},
                    {end, Align::kRight},
                    {"attn out", Align::kRight},
                    {"mlp out", Align::kRight}});
  const std::vector<Group> before = groups(log, 0, layout);
  const std::vector<Group> after = groups(log, log.updates.size() - 1, layout);
  for (std::size_t i = 0; i < before.size(); ++i) {
    table.add({before[i].name, norm_text(before[i].all), norm_text(before[i].attention),
               norm_text(before[i].mlp), norm_text(after[i].all), norm_text(after[i].attention),
               norm_text(after[i].mlp)});
  }
  return table.text();
}

}  // namespace attn
