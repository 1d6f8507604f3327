#include "attn-check/layer.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <string>

#include "attn-check/check.h"
#include "attn-check/verdict_report.h"
#include "check/layer/layer_file.h"
#include "check/layer/layer_reference.h"
#include "check/verdict/rules_text.h"
#include "cli/json.h"
#include "core/text.h"
#include "io/hdf5_writer.h"
#include "io/output.h"
#include "io/provenance.h"

namespace attn {
namespace {

std::string rope_text(const LayerRope& rope) {
  return fmt::format(
      ", rope {} base {}{}{}", rope.pairs == RopePairs::kHalves ? "half-split" : "interleaved",
      rope.base, rope.rotary_dim() > 0 ? fmt::format(" over {} features", rope.rotary_dim()) : "",
      rope.pos0 != 0 ? fmt::format(" from position {}", rope.pos0) : "");
}

void print_layer(const std::string& name, const LayerCase& layer, cli::Report& report) {
  const LayerProblem& problem = layer.problem;
  report.print("{}\n  x {}", name, shape_text(problem.x.shape));
  if (problem.context) report.print("  context {}", shape_text(problem.context->shape));
  report.print("  (batch, rows, features){}\n", layer.x_is.empty() ? "" : ": " + layer.x_is);
  report.print("  {} heads of {}", problem.heads, problem.head_dim());
  if (problem.kv_heads != problem.heads) report.print(", {} key-value heads", problem.kv_heads);
  if (problem.rope) report.print("{}", rope_text(*problem.rope));
  const AttentionProblem between =
      attention_between(problem, Tensor<double>(step_shape(problem, LayerStep::kQ)),
                        Tensor<double>(step_shape(problem, LayerStep::kK)),
                        Tensor<double>(step_shape(problem, LayerStep::kV)));
  report.print("; {}\n", rules_text(between));
}

void write_steps(const std::string& output, const std::string& history, const LayerReport& found,
                 cli::Session& session) {
  Provenance provenance;
  provenance.command = session.history();
  provenance.earlier_history = history;
  Hdf5Writer writer;
  for (const LayerStep step : kAllLayerSteps) {
    writer.dataset(fmt::format("/{}", layer_step_name(step)), found.truth[step]);
  }
  write_provenance(writer, provenance);
  write_output(output, writer.finish());
}

}  // namespace

int report_layer(const std::string& name, const std::string& history, const LayerCase& layer,
                 const LayerReport& found, const CheckOptions& o, cli::Session& session) {
  session.did("checked " + name + checked_words(found.verdict));
  if (!o.output.empty()) write_steps(o.output, history, found, session);
  cli::Report& report = session.report();
  if (!report.wanted()) return exit_code(found.verdict);
  if (o.format == cli::Format::kJson) {
    cli::Json document = verdict_json(found.verdict);
    document["first_deviation"] =
        found.first_wrong.empty() ? cli::Json(nullptr) : cli::Json(found.first_wrong);
    document["remarks"] = found.remarks;
    document["kernel"] = checks_json(found.kernel);
    report.write(cli::json_text(document));
  } else if (o.format == cli::Format::kTsv) {
    report.write(verdict_table(found.verdict).tsv());
  } else {
    print_layer(name, layer, report);
    for (const std::string& remark : found.remarks) report.print("  {}\n", remark);
    report.print("\nwhat was recorded, step by step, against the float64 layer\n{}",
                 verdict_table(found.verdict).text());
    report.print("\nthis program's own float32 layer on the same inputs\n{}",
                 verdict_table(found.kernel).text());
    report.print("\nverdict: {}\n", verdict_word(found.verdict.outcome()));
    if (!found.first_wrong.empty()) report.print("first deviation: {}\n", found.first_wrong);
    print_diagnosis(found.verdict.diagnosis, report);
  }
  return exit_code(found.verdict);
}

CaseNames layer_names(const CheckOptions& o) {
  CaseNames names = o.names;
  names.insert(o.projection.begin(), o.projection.end());
  return names;
}

int run_layer(const TensorFile& file, const CheckOptions& o, cli::Session& session) {
  const ReadLimits limits{.max_bytes = o.max_bytes};
  const LayerCase layer =
      read_layer(file, merged(o.attributes, read_layer_rules(file)),
                 merged(o.layer, read_layer_attributes(file)), layer_names(o), limits);
  LayerSettings settings;
  settings.threads = static_cast<int>(o.threads);
  return report_layer(file.name(), read_history(file), layer, check_layer(layer, settings), o,
                      session);
}

}  // namespace attn
