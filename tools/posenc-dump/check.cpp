#include "posenc-dump/check.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>

#include "check/posenc/check_posenc.h"
#include "check/verdict/explanations.h"
#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/table.h"
#include "core/error.h"
#include "core/text.h"
#include "posenc-dump/case_from_options.h"

namespace attn {
namespace {

using cli::Json;
using cli::Table;

const char* verdict_word(Outcome outcome) {
  return outcome == Outcome::kNotChecked ? "none" : outcome_name(outcome);
}

std::string error_text(double error) {
  return error == 0 ? "0" : fmt::format("{:.2e}", error);
}

Table checks_table(const Verdict& verdict) {
  Table table({{"check", Table::Align::kLeft},
               {"verdict", Table::Align::kLeft},
               {"max error"},
               {"limit"},
               {"ratio"},
               {"where", Table::Align::kLeft},
               {"note", Table::Align::kLeft}});
  for (const Check& check : verdict.checks) {
    if (check.outcome == Outcome::kNotChecked) {
      table.add({check.name, outcome_name(check.outcome), "", "", "", "", check.note});
      continue;
    }
    table.add({check.name, outcome_name(check.outcome), error_text(check.max_error),
               error_text(check.limit), fmt::format("{:.3g}", check.ratio()),
               check.max_error > 0 ? shape_text(check.where) : "", check.note});
  }
  return table;
}

Json report_json(const PosencCase& c, const Verdict& found) {
  Json document;
  document["verdict"] = verdict_word(found.outcome());
  document["diagnosis"] = names_of(found.diagnosis);
  document["kind"] = posenc_kind_name(c.kind);
  Json checks = Json::array();
  for (const Check& check : found.checks) {
    Json one;
    one["name"] = check.name;
    const bool made = check.outcome != Outcome::kNotChecked;
    one["pass"] = made ? Json(check.outcome == Outcome::kPass) : Json(nullptr);
    one["max_error"] = made ? cli::json_number(check.max_error) : Json(nullptr);
    one["limit"] = made ? cli::json_number(check.limit) : Json(nullptr);
    one["ratio"] = made ? cli::json_number(check.ratio()) : Json(nullptr);
    one["where"] = check.where;
    if (!check.note.empty()) one["note"] = check.note;
    checks.push_back(std::move(one));
  }
  document["checks"] = std::move(checks);
  Json findings = Json::array();
  for (const Diagnosis& finding : found.diagnosis) {
    Json one;
    one["name"] = finding.name;
    one["detail"] = finding.detail;
    one["kind"] = diagnosis_kind_name(finding.kind);
    if (const Explanation* told = find_explanation(finding.name)) {
      one["what"] = told->what;
      one["cause"] = told->cause;
    }
    findings.push_back(std::move(one));
  }
  document["diagnoses"] = std::move(findings);
  document["assumed"] = c.assumed;
  return document;
}

void print_text(const std::string& name, const PosencCase& c, const Verdict& found,
                cli::Report& report) {
  report.print("{}: {}: {}\n", name, posenc_kind_name(c.kind), verdict_word(found.outcome()));
  for (const std::string& assumed : c.assumed) report.print("assumed {}\n", assumed);
  report.write(checks_table(found).text());
  for (const Diagnosis& finding : found.diagnosis) {
    report.print("diagnosis: {}: {}\n", finding.name, finding.detail);
    const Explanation* told = find_explanation(finding.name);
    if (told != nullptr) report.print("  {}\n  {}\n", told->what, told->cause);
  }
}

void print_table(const Verdict& found, char separator, cli::Report& report) {
  Table table = checks_table(found);
  report.write(separator == '\t' ? table.tsv() : table.csv());
  for (const Diagnosis& finding : found.diagnosis) {
    report.print("# diagnosis{}{}{}{}\n", separator, finding.name, separator,
                 separator == '\t' ? cli::tsv_cell(finding.detail) : cli::csv_cell(finding.detail));
  }
}

}  // namespace

int run_check(const PosencOptions& o, cli::Session& session) {
  const NamedCase subject = case_from_options(o, session);
  const Verdict found = check_posenc(subject.recorded);
  cli::Report& report = session.report();
  if (o.format == cli::Format::kJson) {
    report.write(cli::json_text(report_json(subject.recorded, found)));
  } else if (o.format == cli::Format::kText) {
    print_text(subject.name, subject.recorded, found, report);
  } else {
    print_table(found, o.format == cli::Format::kTsv ? '\t' : ',', report);
  }
  session.did(fmt::format("checked {}: {}: {}", subject.name,
                          posenc_kind_name(subject.recorded.kind), verdict_word(found.outcome())));
  return found.outcome() == Outcome::kFail ? cli::kNo : cli::kDone;
}

int run_explain(const PosencOptions& o, cli::Session& session) {
  const Explanation* told = find_explanation(o.explain);
  if (told == nullptr) {
    std::vector<std::string> hints;
    const std::string nearest = nearest_mistake(o.explain);
    if (!nearest.empty()) hints.push_back(fmt::format("did you mean '{}'?", nearest));
    hints.emplace_back("`attn-check --explain list` names all");
    throw UsageError(fmt::format("--explain: no mistake is called '{}'", escaped(o.explain)),
                     hints);
  }
  session.report().print("{}\n  {}\n  {}\n\n{}\n", told->name, told->what, told->cause, told->text);
  session.did(fmt::format("explained {}", told->name));
  return cli::kDone;
}

}  // namespace attn
