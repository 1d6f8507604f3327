#include "attn-check/verdict_report.h"

#include <fmt/core.h>

#include <cmath>
#include <string>
#include <utility>

#include "attn-check/nearness.h"
#include "check/verdict/explanations.h"

namespace attn {

using cli::Json;
using cli::Table;

std::string error_text(double error) {
  if (std::isnan(error)) return "nan";  // whatever its sign
  return error == 0 ? "0" : fmt::format("{:.2e}", error);
}

const char* verdict_word(Outcome outcome) {
  return outcome == Outcome::kNotChecked ? "none" : outcome_name(outcome);
}

Table verdict_table(const Verdict& verdict) {
  Table table({{"check", Table::Align::kLeft},
               {"verdict", Table::Align::kLeft},
               {"max error"},
               {"limit"},
               {"mean error"},
               {"mean limit"},
               {"ratio"},
               {"where", Table::Align::kLeft},
               {"note", Table::Align::kLeft}});
  for (const Check& check : verdict.checks) {
    std::vector<std::string> row = {check.name, outcome_name(check.outcome)};
    if (check.outcome == Outcome::kNotChecked) {
      row.insert(row.end(), 6, "");
    } else {
      const bool mean = check.mean_limit > 0;
      row.push_back(error_text(check.max_error));
      row.push_back(error_text(check.limit));
      row.push_back(mean ? error_text(check.mean_error) : "");
      row.push_back(mean ? error_text(check.mean_limit) : "");
      row.push_back(fmt::format("{:.3g}", check.ratio()));
      row.push_back(check.max_error > 0 ? place_text(check.where, check.axes) : "");
    }
    row.push_back(check.note);
    table.add(std::move(row));
  }
  return table;
}

Json checks_json(const Verdict& verdict) {
  Json checks = Json::array();
  for (const Check& check : verdict.checks) {
    Json one;
    one["name"] = check.name;
    const bool made = check.outcome != Outcome::kNotChecked;
    one["pass"] = made ? Json(check.outcome == Outcome::kPass) : Json(nullptr);
    one["status"] = outcome_name(check.outcome);
    one["max_error"] = made ? cli::json_number(check.max_error) : Json(nullptr);
    one["limit"] = made ? cli::json_number(check.limit) : Json(nullptr);
    one["mean_error"] = made ? cli::json_number(check.mean_error) : Json(nullptr);
    one["mean_limit"] = made ? cli::json_number(check.mean_limit) : Json(nullptr);
    one["ratio"] = made ? cli::json_number(check.ratio()) : Json(nullptr);
    one["where"] = check.where;
    if (made && check.max_error > 0) one["place"] = place_text(check.where, check.axes);
    add_metrics(check, one);
    if (!check.note.empty()) one["note"] = check.note;
    checks.push_back(std::move(one));
  }
  return checks;
}

Json diagnoses_json(const std::vector<Diagnosis>& diagnosis) {
  Json all = Json::array();
  for (const Diagnosis& one : diagnosis) {
    Json json;
    json["name"] = one.name;
    json["detail"] = one.detail;
    json["kind"] = diagnosis_kind_name(one.kind);
    all.push_back(std::move(json));
  }
  return all;
}

Json verdict_json(const Verdict& verdict) {
  Json document;
  document["verdict"] = verdict_word(verdict.outcome());
  document["diagnosis"] = names_of(verdict.diagnosis);
  document["diagnoses"] = diagnoses_json(verdict.diagnosis);
  document["checks"] = checks_json(verdict);
  return document;
}

// What it is, then what is known of the mistake in general.
void print_diagnosis(const std::vector<Diagnosis>& diagnosis, cli::Report& report) {
  for (const Diagnosis& one : diagnosis) {
    report.print("diagnosis: {}{}{}\n", one.name, one.detail.empty() ? "" : ": ", one.detail);
    const Explanation* known = find_explanation(one.name);
    if (known == nullptr) continue;
    report.print("  {}\n  {}\n", known->what, known->cause);
  }
}

}  // namespace attn
