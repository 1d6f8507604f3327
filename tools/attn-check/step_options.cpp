#include "attn-check/step_options.h"

#include <fmt/core.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "check/cases/case_source.h"
#include "core/error.h"

namespace attn {

void declare_steps(cli::OptionTable& table, CheckOptions& o) {
  table.group("What each step does");
  table
      .flag("show-steps", o.steps,
            "print what project, score, scale, mask, softmax and mix make of the inputs")
      .not_data();
  table.action(
      "no-scale",
      [&o] {
        o.no_scale = true;
        o.attributes.scale = 1;
      },
      "--scale 1; without input how softmax saturates then, for head_dim 4 to 1024");
  for (const char* name : {"x", "context", "q_proj", "k_proj", "v_proj"}) {
    const bool tokens = std::string_view(name) == "x";
    const bool context = std::string_view(name) == "context";
    table.custom(
        dataset_option_name(name).substr(2), "PATH",
        [&o, name](std::string_view path) { o.projection[name] = std::string(path); },
        tokens    ? "instead of /x of a layer; for --show-steps tokens that q, k, v are made of"
        : context ? "tokens that k and v are made of instead"
                  : fmt::format("(out, in): {} = x W^T, else {} = x", name[0], name[0]));
  }
  table
      .flag("print-weights", o.print_weights,
            "weights of --head and --rows, of q and k alone; also with --show and --output")
      .not_data();
  table.counts("head", o.head, "numbers of the heads to print, 0 is the first").at_least(0);
  table.counts("rows", o.rows, "numbers of the rows to print: 0-15").at_least(0);
  table
      .flag("head-stats", o.head_stats,
            "where each head looks: of a case, or of maps that tinygpt-generate dumped")
      .not_data();
  table.text("token-ids", o.token_ids, "for --head-stats: tokens of the keys, for induction scores")
      .argument("NUMBERS");
  table
      .counts("compare-heads", o.compare_heads,
              "layers with so many heads side by side: parameters, FLOPs, ranks")
      .at_most(1024)
      .not_data();
  table.count("width", o.width, "for --compare-heads: features of the layer").at_most(1024);
}

void check_step_options(const cli::OptionTable& table, const CheckOptions& o) {
  const auto refuse = [&](const std::string& name, const char* why) {
    if (table.given(name)) throw UsageError(fmt::format("--{} {}", name, why));
  };
  if (table.given("scale")) refuse("no-scale", "is --scale 1: give one");
  const int modes = int{o.power} + int{o.steps} + int{o.print_weights} + int{o.head_stats};
  if (modes > 1) {
    throw UsageError("--power, --show-steps, --print-weights and --head-stats: give one");
  }
  if (!o.steps && !o.print_weights) {
    for (const char* name : {"head", "rows"}) refuse(name, "needs --show-steps or --print-weights");
  }
  if (!o.head_stats) refuse("token-ids", "needs --head-stats");
  // Options that a mode would not look at.
  const auto without = [&](bool mode, const char* why, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (mode) refuse(name, why);
    }
  };
  without(o.power, "does not go with --power", {"output", "show", "maps"});
  without(o.steps, "does not go with --show-steps", {"output", "show", "maps"});
  without(o.print_weights, "does not go with --print-weights", {"maps", "tolerance"});
  without(o.head_stats, "does not go with --head-stats", {"output", "show", "maps", "tolerance"});
  if (o.projection.empty()) return;
  if (!o.input.empty() && !o.steps) return;  // a layer's datasets under other names
  const bool tokens = o.projection.count("x") != 0;
  for (const char* name : {"x", "context", "q-proj", "k-proj", "v-proj"}) {
    if (!o.steps) refuse(name, "needs --show-steps");
    if (!tokens) refuse(name, "needs --x");
    if (!o.input.empty()) refuse(name, "does not go with --input");
  }
  for (const char* name : {"q", "k", "v"}) refuse(name, "is made of --x: give one");
}

}  // namespace attn
