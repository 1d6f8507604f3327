#include "kvcache-bench/columns.h"

#include <fmt/core.h>

#include <cmath>
#include <optional>
#include <variant>

namespace attn {
namespace {

std::size_t row_count(const std::vector<BenchColumn>& columns) {
  if (columns.empty()) return 0;
  return std::visit([](const auto& values) { return values.size(); }, columns.front().values);
}

std::string cell_text(const BenchColumn& column, std::size_t row) {
  if (const auto* texts = std::get_if<BenchColumn::Texts>(&column.values)) return (*texts)[row];
  if (const auto* reals = std::get_if<BenchColumn::Reals>(&column.values)) {
    return std::isfinite((*reals)[row]) ? fmt::format("{}", (*reals)[row]) : "nan";
  }
  if (const auto* counts = std::get_if<BenchColumn::Counts>(&column.values))
    return fmt::format("{}", (*counts)[row]);
  const std::optional<Index> count = std::get<BenchColumn::OptionalCounts>(column.values)[row];
  return count ? fmt::format("{}", *count) : "nan";
}

cli::Json json_cell(const BenchColumn& column, std::size_t row) {
  if (const auto* texts = std::get_if<BenchColumn::Texts>(&column.values)) return (*texts)[row];
  if (const auto* reals = std::get_if<BenchColumn::Reals>(&column.values))
    return cli::json_number((*reals)[row]);
  if (const auto* counts = std::get_if<BenchColumn::Counts>(&column.values)) return (*counts)[row];
  const std::optional<Index> count = std::get<BenchColumn::OptionalCounts>(column.values)[row];
  return count ? cli::Json(*count) : cli::Json();
}

cli::Json json_fact(const BenchFact& fact) {
  if (const auto* text = std::get_if<std::string>(&fact)) return *text;
  if (const auto* count = std::get_if<Index>(&fact)) return *count;
  return cli::json_number(std::get<double>(fact));
}

cli::Json json_stored(const StorageAgreement& one, bool portable) {
  cli::Json stored;
  stored["k_dtype"] = kv_type_name(one.types.keys);
  stored["v_dtype"] = kv_type_name(one.types.values);
  stored["outputs_agree"] = one.compared ? cli::Json(one.outputs) : cli::Json();
  if (portable) return stored;
  stored["max_difference"] = cli::json_number(one.max_difference);
  stored["max_difference_bound"] = cli::json_number(one.bound);
  stored["storage_error"] = cli::json_number(one.storage_error);
  return stored;
}

}  // namespace

cli::Table column_table(const std::vector<BenchColumn>& columns) {
  std::vector<cli::Table::Column> names;
  names.reserve(columns.size());
  for (const BenchColumn& column : columns) names.push_back({column.name});
  cli::Table table(std::move(names));
  for (std::size_t row = 0; row < row_count(columns); ++row) {
    std::vector<std::string> cells;
    cells.reserve(columns.size());
    for (const BenchColumn& column : columns) cells.push_back(cell_text(column, row));
    table.add(std::move(cells));
  }
  return table;
}

cli::Json json_row(const std::vector<BenchColumn>& columns, std::size_t row) {
  cli::Json result;
  for (const BenchColumn& column : columns) result[column.name] = json_cell(column, row);
  return result;
}

cli::Json json_context(const BenchContext& context) {
  cli::Json facts = cli::Json::object();
  for (const auto& fact : context) facts[fact.first] = json_fact(fact.second);
  return facts;
}

cli::Json json_beginning(const BenchContext& context, const Agreement& agreement, bool portable) {
  cli::Json document;
  document["schema"] = 1;
  document["context"] = json_context(context);
  document["counts_agree"] = agreement.counts;
  document["outputs_agree"] = agreement.any_compared() ? cli::Json(agreement.outputs) : cli::Json();
  if (agreement.compared && !portable) {
    document["max_difference"] = cli::json_number(agreement.max_difference);
    document["max_difference_bound"] = cli::json_number(agreement.bound);
  }
  for (const StorageAgreement& one : agreement.stored)
    document["stored"].push_back(json_stored(one, portable));
  return document;
}

std::string json_lines(const BenchContext& context, const std::vector<cli::Json>& rows) {
  // The context is the same in all: it is made once, and put before the brace that ends a row.
  cli::Json last;
  last["context"] = json_context(context);
  std::string ending = cli::json_line(last);
  ending.front() = ',';
  std::string text;
  for (const cli::Json& row : rows) {
    text += cli::json_line(row);
    text.resize(text.size() - 2);  // "}\n"
    text += ending;
  }
  return text;
}

std::string real_cell(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "-";
}

std::string joined_lines(const std::vector<std::string>& lines, bool markdown) {
  std::string text;
  for (const std::string& line : lines) text += fmt::format("{}{}\n", markdown ? "- " : "", line);
  return text;
}

std::string people_table(const cli::Table& table, bool markdown) {
  return markdown ? table.markdown() : table.text();
}

}  // namespace attn
