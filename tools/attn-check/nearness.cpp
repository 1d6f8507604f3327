#include "attn-check/nearness.h"

#include <fmt/core.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "cli/table.h"
#include "core/text.h"

namespace attn {
namespace {

using cli::Json;
using cli::Table;

std::string small_text(double number) {
  if (std::isnan(number)) return "nan";  // whatever its sign
  return number == 0 ? "0" : fmt::format("{:.2e}", number);
}

// Near 1 it is the distance that tells.
std::string near_one_text(double number) {
  return std::isnan(number) ? "nan" : fmt::format("{:.9g}", number);
}

bool is_correlation(const HouseDecision& one) {
  return one.house.house == House::kPcc;
}

}  // namespace

void print_metrics(const Verdict& verdict, cli::Report& report) {
  Table table(
      {{"tensor", Table::Align::kLeft}, {"nmse"}, {"cosine"}, {"pearson"}, {"max relative error"}});
  for (const Check& check : verdict.checks) {
    if (!check.metrics) continue;
    table.add({check.name, small_text(check.metrics->nmse), near_one_text(check.metrics->cosine),
               near_one_text(check.metrics->pearson), small_text(check.metrics->max_relative)});
  }
  if (!table.empty()) report.print("\nby other measures\n{}", table.text());
}

void add_metrics(const Check& check, Json& document) {
  if (!check.metrics) return;
  document["nmse"] = cli::json_number(check.metrics->nmse);
  document["cosine"] = cli::json_number(check.metrics->cosine);
  document["pearson"] = cli::json_number(check.metrics->pearson);
  document["max_relative_error"] = cli::json_number(check.metrics->max_relative);
}

void print_houses(const HouseReport& houses, cli::Report& report) {
  Table table({{"house", Table::Align::kLeft},
               {"verdict", Table::Align::kLeft},
               {"measure", Table::Align::kLeft},
               {"found"},
               {"limit"},
               {"rule", Table::Align::kLeft}});
  for (const HouseDecision& one : houses.decisions) {
    const bool near_one = is_correlation(one);
    table.add({house_name(one.house), one.pass ? "pass" : "fail", one.measure,
               near_one ? near_one_text(one.found) : small_text(one.found),
               near_one ? near_one_text(one.limit) : small_text(one.limit), one.rule});
  }
  report.print("\n{} as the tests of other projects see it; {} decides\n{}{}\n", houses.tensor,
               house_name(houses.chosen), table.text(), houses.remark);
}

void add_houses(const HouseReport& houses, Json& document) {
  document["tolerance"] = house_name(houses.chosen);
  Json all = Json::array();
  for (const HouseDecision& one : houses.decisions) {
    Json house;
    house["house"] = house_name(one.house);
    house["tensor"] = houses.tensor;
    house["pass"] = one.pass;
    house["measure"] = one.measure;
    house["found"] = cli::json_number(one.found);
    house["limit"] = cli::json_number(one.limit);
    house["rule"] = one.rule;
    all.push_back(std::move(house));
  }
  document["houses"] = std::move(all);
  document["houses_remark"] = houses.remark;
}

}  // namespace attn
