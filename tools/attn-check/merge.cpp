#include "attn-check/merge.h"

#include <fmt/core.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn-check/check.h"
#include "attn-check/verdict_report.h"
#include "check/merge/merge_check.h"
#include "cli/json.h"
#include "cli/table.h"
#include "core/counted.h"
#include "core/text.h"
#include "io/hdf5_writer.h"
#include "io/output.h"
#include "io/provenance.h"

namespace attn {
namespace {

MergeFile read_file(const std::string& path, const CheckOptions& o, std::string* history) {
  const ReadLimits limits{.max_bytes = o.max_bytes};
  const TensorFile file = TensorFile::open(path, limits);
  if (history != nullptr) *history = read_history(file);
  return read_merge_file(file, o.attributes, o.names, limits);
}

std::string lse_text(const PartSummary& part) {
  if (part.empty == part.rows) return "-inf";
  return fmt::format("{:.4g} to {:.4g}", part.least_lse, part.largest_lse);
}

cli::Table parts_table(const MergeReport& found) {
  using Align = cli::Table::Align;
  cli::Table table({{"part"},
                    {"file", Align::kLeft},
                    {"keys"},
                    {"rows"},
                    {"saw nothing"},
                    {"lse", Align::kLeft}});
  int number = 0;
  for (const PartSummary& part : found.parts) {
    table.add({fmt::format("{}", ++number), part.name,
               part.keys ? fmt::format("{}", *part.keys) : "-", fmt::format("{}", part.rows),
               fmt::format("{}", part.empty), lse_text(part)});
  }
  return table;
}

// Of what was merged: one more part, in numbers.
PartSummary summary_of(const PartialAnswer& merged) {
  MergeFile all;
  all.recorded.out = merged.out;
  all.recorded.lse = merged.lse;
  return summary_of_part(all);
}

void print_text(const MergeReport& found, cli::Report& report) {
  const PartSummary all = summary_of(found.merged);
  report.print("{}merged: out {}, lse {}; {} of {} rows saw nothing\n", parts_table(found).text(),
               shape_text(found.merged.out.shape), lse_text(all), all.empty, all.rows);
  for (const std::string& remark : found.remarks) report.print("  {}\n", remark);
  if (!found.verdict.checks.empty()) {
    report.print(
        "\nagainst the float64 reference, and what was recorded against what is merged\n{}",
        verdict_table(found.verdict).text());
  }
  report.print("\nverdict: {}\n", verdict_word(found.verdict.outcome()));
  print_diagnosis(found.verdict.diagnosis, report);
}

void print_json(const MergeReport& found, cli::Report& report) {
  cli::Json document = verdict_json(found.verdict);
  cli::Json parts = cli::Json::array();
  for (const PartSummary& part : found.parts) {
    cli::Json one = {{"file", part.name}, {"rows", part.rows}, {"empty", part.empty}};
    one["keys"] = part.keys ? cli::Json(*part.keys) : cli::Json();
    one["least_lse"] = cli::json_number(part.least_lse);
    one["largest_lse"] = cli::json_number(part.largest_lse);
    parts.push_back(std::move(one));
  }
  document["parts"] = std::move(parts);
  document["remarks"] = found.remarks;
  report.write(cli::json_text(document));
}

// out in the layout of the first part; both in float64, so that merging on loses nothing.
void write_merged(const MergeReport& found, const MergeFile& first, const std::string& history,
                  const CheckOptions& o, const cli::Session& session) {
  Hdf5Writer writer;
  writer.dataset("/out", from_bhsd(found.merged.out, first.layout));
  writer.dataset("/lse", found.merged.lse);
  if (first.layout != TensorLayout::kBhsd) {
    writer.attribute("/", "layout", layout_name(first.layout));
  }
  if (heads_are_joined(first.layout)) writer.attribute("/", "heads", found.merged.out.dim(1));
  const AttentionRules& rules = first.recorded.problem.rules;
  writer.attribute("/", "dtype", dtype_name(rules.dtype));
  if (rules.fully_masked == FullyMasked::kNan) writer.attribute("/", "fully_masked", "nan");
  Provenance provenance;
  provenance.command = session.history();
  provenance.earlier_history = history;
  write_provenance(writer, provenance);
  write_output(o.output, writer.finish());
}

}  // namespace

int run_merge(const CheckOptions& o, cli::Session& session) {
  std::vector<std::string> inputs = o.merge;
  if (!o.input.empty()) inputs.push_back(o.input);
  if (!o.output.empty()) check_output(o.output, inputs);
  std::string history;
  std::vector<MergeFile> parts;
  for (const std::string& path : o.merge) {
    parts.push_back(read_file(path, o, parts.empty() ? &history : nullptr));
  }
  require_parts(parts);
  std::optional<MergeFile> whole;
  if (!o.input.empty()) whole = read_file(o.input, o, nullptr);
  const MergeReport found = check_merge(parts, whole, static_cast<int>(o.threads));
  if (!o.output.empty()) write_merged(found, parts.front(), history, o, session);
  if (session.report().wanted()) {
    if (o.format == cli::Format::kJson) {
      print_json(found, session.report());
    } else if (o.format == cli::Format::kTsv) {
      session.report().write(
          (found.verdict.checks.empty() ? parts_table(found) : verdict_table(found.verdict)).tsv());
    } else {
      print_text(found, session.report());
    }
  }
  session.did(fmt::format("merged the answers to {} of the keys{}",
                          counted(std::ssize(parts), "part"), checked_words(found.verdict)));
  return exit_code(found.verdict);
}

}  // namespace attn
