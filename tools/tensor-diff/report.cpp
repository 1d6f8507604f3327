#include "tensor-diff/report.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>

#include "cli/json.h"
#include "cli/table.h"
#include "core/text.h"
#include "tensor-diff/picture.h"

namespace attn {
namespace {

using cli::Json;
using cli::Table;

std::string name_text(const ComparedPair& pair) {
  if (pair.a == pair.b) return escaped(pair.a, 4096);
  return fmt::format("{} = {}", escaped(pair.a, 4096), escaped(pair.b, 4096));
}

const char* verdict_of(const ComparedPair& pair) {
  if (!pair.info_a) return "only in B";
  if (!pair.info_b) return "only in A";
  if (!pair.difference) return "shape";
  if (pair.difference->differing > 0) return "differs";
  if (pair.other_type) return "type";
  return pair.difference->max_abs > 0 ? "within" : "equal";
}

// Squares of numbers near the largest leave what a double holds.
constexpr const char* kBeyond = "n/a";

std::string error_text(double error) {
  if (std::isnan(error)) return kBeyond;
  return error == 0 ? "0" : std::isinf(error) ? "inf" : fmt::format("{:.2e}", error);
}

std::string shape_and_type(const std::optional<DatasetInfo>& info) {
  return info ? fmt::format("{} {}", shape_text(info->shape), info->type_name) : "nothing";
}

Table pair_table(const std::vector<ComparedPair>& pairs) {
  Table table({{"tensor", Table::Align::kLeft},
               {"shape", Table::Align::kLeft},
               {"verdict", Table::Align::kLeft},
               {"differing"},
               {"max abs"},
               {"max rel"},
               {"nmse"},
               {"cosine"},
               {"ulp"},
               {"first", Table::Align::kLeft},
               {"worst", Table::Align::kLeft}});
  for (const ComparedPair& pair : pairs) {
    const auto& shown = pair.info_a ? pair.info_a : pair.info_b;
    std::vector<std::string> row = {name_text(pair), shown ? shape_and_type(shown) : "in neither",
                                    verdict_of(pair)};
    if (pair.difference) {
      const TensorDifference& d = *pair.difference;
      row.push_back(grouped(d.differing));
      row.push_back(error_text(d.max_abs));
      row.push_back(error_text(d.max_rel));
      row.push_back(error_text(d.nmse));
      row.push_back(std::isnan(d.cosine) ? kBeyond
                    : d.cosine == 1      ? "1"
                                         : fmt::format("{:.9f}", d.cosine));
      row.push_back(d.max_ulp ? fmt::format("{:.4g}", *d.max_ulp) : "");
      row.push_back(d.first ? shape_text(*d.first) : "");
      row.push_back(d.worst ? shape_text(*d.worst) : "");
    } else {
      row.insert(row.end(), 8, "");
    }
    table.add(std::move(row));
  }
  return table;
}

Json info_json(const std::optional<DatasetInfo>& info) {
  if (!info) return nullptr;
  return {{"path", info->path}, {"shape", info->shape}, {"dtype", dtype_name(info->type)}};
}

Json pair_json(const ComparedPair& pair) {
  Json one = {{"name", pair.a},
              {"verdict", verdict_of(pair)},
              {"a", info_json(pair.info_a)},
              {"b", info_json(pair.info_b)}};
  if (pair.difference) {
    const TensorDifference& d = *pair.difference;
    one["count"] = d.count;
    one["differing"] = d.differing;
    one["nonfinite"] = d.nonfinite;
    one["max_abs"] = cli::json_number(d.max_abs);
    one["max_rel"] = cli::json_number(d.max_rel);
    one["nmse"] = cli::json_number(d.nmse);
    one["cosine"] = cli::json_number(d.cosine);
    one["max_ulp"] = d.max_ulp ? cli::json_number(*d.max_ulp) : Json();
    one["first"] = d.first ? Json(*d.first) : Json();
    one["worst"] = d.worst ? Json(*d.worst) : Json();
  }
  one["relations"] = pair.relations;
  return one;
}

}  // namespace

std::string deviation_text(const ComparedPair& pair) {
  const std::string name = name_text(pair);
  if (!pair.info_a && !pair.info_b) return name + " is in neither file";
  if (!pair.info_a || !pair.info_b) {
    return fmt::format("{} is only in {}", name, pair.info_a ? "A" : "B");
  }
  if (!pair.difference) {
    return fmt::format("{} has shape {} in A and {} in B", name, shape_text(pair.info_a->shape),
                       shape_text(pair.info_b->shape));
  }
  const TensorDifference& d = *pair.difference;
  if (d.differing == 0) {
    return fmt::format("{} is {} in A and {} in B", name, pair.info_a->type_name,
                       pair.info_b->type_name);
  }
  return fmt::format("{}: {} of {} numbers differ, the first at {}", name, grouped(d.differing),
                     grouped(d.count), shape_text(*d.first));
}

void print_pairs(const DiffOptions& o, const std::vector<ComparedPair>& pairs,
                 cli::Session& session) {
  cli::Report& report = session.report();
  const ComparedPair* first = first_deviation(pairs);
  if (o.format == cli::Format::kJson) {
    Json tensors = Json::array();
    for (const ComparedPair& pair : pairs) tensors.push_back(pair_json(pair));
    Json document = {{"verdict", first == nullptr ? "equal" : "differ"},
                     {"first", first == nullptr ? Json() : Json(first->a)}};
    document["tensors"] = std::move(tensors);
    report.write(cli::json_text(document));
    return;
  }
  const Table table = pair_table(pairs);
  if (o.format == cli::Format::kTsv) {
    report.write(table.tsv());
    return;
  }
  report.write(table.text());
  for (const ComparedPair& pair : pairs) {
    for (const std::string& relation : pair.relations) {
      report.print("{}: {}\n", name_text(pair), relation);
    }
  }
  for (const ComparedPair& pair : pairs) {
    if (!pair.map) continue;
    report.print("\n{}", difference_picture(name_text(pair), pair.info_a->shape, *pair.map,
                                            session.terminal()));
  }
}

}  // namespace attn
