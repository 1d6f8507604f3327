#include "attn-check/option_rules.h"

#include <fmt/core.h>

#include <set>
#include <string>
#include <vector>

#include "attn-check/step_options.h"
#include "check/cases/case_datasets.h"
#include "core/error.h"

namespace attn {
namespace {

const std::vector<std::string> kRuleOptions = {
    "causal",       "no-causal",   "causal-alignment", "causal-offset", "scale",
    "softcap",      "window-left", "window-right",     "window-size",   "layout",
    "dtype",        "heads",       "kv-heads",         "mask-type",     "fully-masked",
    "scores-stage", "maps",        "tolerance",        "power",         "pages-layout"};

// A mode that reads nothing refuses what it would not look at.
void only_beside(const cli::OptionTable& table, const std::string& mode,
                 std::set<std::string> beside) {
  beside.insert({mode, "format", "json", "quiet", "verbose", "color", "threads"});
  for (const cli::Option& option : table.options()) {
    if (option.given().empty() || beside.count(option.name()) != 0) continue;
    throw UsageError(fmt::format("--{} does not go with {}", mode, option.dashed()));
  }
}

// Two ways of saying one thing.
template <class Refuse>
void check_rules(const cli::OptionTable& table, const Refuse& refuse) {
  if (table.given("causal")) refuse("no-causal", "contradicts --causal");
  if (table.given("window-left")) refuse("window-size", "is --window-left plus 1: give one");
  if (table.given("causal-offset")) refuse("causal-alignment", "and --causal-offset: give one");
}

}  // namespace

void check_combinations(const cli::OptionTable& table, const CheckOptions& o) {
  const auto refuse = [&](const std::string& name, const char* why) {
    if (table.given(name)) throw UsageError(fmt::format("--{} {}", name, why));
  };
  if (!o.explain.empty()) return only_beside(table, "explain", {});
  if (!o.cost.empty()) {
    only_beside(table, "cost",
                {"cost-heads", "cost-head-dim", "output", "seed", "max-bytes", "no-progress"});
    return;
  }
  for (const char* name : {"cost-heads", "cost-head-dim"}) refuse(name, "needs --cost");
  if (!o.merge.empty()) {
    if (o.merge.size() < 2) throw UsageError("--merge: want two files or more, got one");
    std::set<std::string> beside = {"input", "output", "max-bytes"};
    beside.insert(kRuleOptions.begin(), kRuleOptions.end());
    for (const char* name : {"maps", "tolerance", "power", "scores-stage"}) beside.erase(name);
    for (const std::string& name : case_datasets()) {
      beside.insert(dataset_option_name(name).substr(2));
    }
    only_beside(table, "merge", beside);
    check_rules(table, refuse);
    return;
  }
  if (o.make_probe) {
    only_beside(
        table, "make-probe",
        {"output", "npz", "head-dim", "probe-inputs", "seed", "causal", "no-causal",
         "causal-alignment", "causal-offset", "scale", "softcap", "window-left", "window-right",
         "window-size", "layout", "dtype", "heads", "kv-heads", "fully-masked"});
    check_rules(table, refuse);
    return;
  }
  for (const char* name : {"npz", "probe-inputs"}) refuse(name, "needs --make-probe");
  if (!o.compare_heads.empty()) {
    return only_beside(table, "compare-heads", {"width", "tokens", "seed"});
  }
  refuse("width", "needs --compare-heads");
  for (const char* name : {"ids", "prompt", "source-ids", "dump"}) {
    if (o.block.empty()) refuse(name, "needs --block");
  }
  if (!o.block.empty()) {
    if (o.input.empty()) refuse("block", "needs --input, a checkpoint");
    if (!o.ids.empty()) refuse("prompt", "and --ids: give one");
    for (const char* name : {"maps", "show", "power", "tolerance", "show-steps"}) {
      refuse(name, "does not go with --block");
    }
  }
  const bool bare = o.input.empty() && o.names.empty() && o.projection.empty();
  if (o.no_scale && bare && !o.steps) return only_beside(table, "no-scale", {"seed", "show"});
  check_step_options(table, o);
  if (bare && o.steps) {
    for (const char* name : {"layout", "heads", "kv-heads", "scores-stage", "tolerance"}) {
      refuse(name, "needs --input or --q");
    }
  } else if (bare) {
    for (const std::string& name : kRuleOptions) refuse(name, "needs --input or --q");
    for (const char* name : {"fused-order", "rope-style", "rope-base", "rotary-dim", "pos0",
                             "qk-stage", "weights-transposed", "head-dim"}) {
      refuse(name, "needs --input, a layer");
    }
  } else {
    refuse("tokens", "makes its own tokens: it does not go with other inputs");
  }
  if (!o.tokens) refuse("seed", "needs --tokens or --make-probe");
  check_rules(table, refuse);
}

}  // namespace attn
