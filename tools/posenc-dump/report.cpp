#include "posenc-dump/report.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "io/npy.h"
#include "io/readable_text.h"
#include "io/table_text.h"
#include "posenc-dump/picture.h"

namespace attn {
namespace {

// Numbers are printed in the digits of the type they were rounded to.
template <class Use>
void with_values(const PositionPart& part, DType dtype, const Use& use) {
  if (part.kept == PositionPart::Kept::kWhole) {
    const std::vector<std::int32_t> whole(part.values.values.begin(), part.values.values.end());
    use(std::span<const std::int32_t>(whole));
  } else if (dtype == DType::kF64 || part.kept == PositionPart::Kept::kExactly) {
    use(std::span<const double>(part.values.values));
  } else {
    const std::vector<float> single(part.values.values.begin(), part.values.values.end());
    use(std::span<const float>(single));
  }
}

// Row by row in blocks, so that a reader who has seen enough ends it early.
void write_rows(const PositionPart& part, DType dtype, char separator, bool long_form,
                cli::Report& report) {
  TableStyle style{.separator = separator, .long_form = long_form, .title = {}, .columns = {}};
  if (long_form || part.values.rank() < 2) {
    if (!long_form) style.columns = {part.name};
    with_values(part, dtype,
                [&](auto values) { report.write(table_text(part.values.shape, values, style)); });
    return;
  }
  constexpr Index kBlock = 512;
  const Matrix<const double> rows = part.values.matrix();
  style.columns = part.columns;
  PositionPart block{part.name, {}, {}, {}, part.kept, false};
  for (Index first = 0; first < rows.rows(); first += kBlock) {
    const Matrix<const double> some = rows.row_block(first, std::min(kBlock, rows.rows() - first));
    block.values = Tensor<double>({some.rows(), some.cols()},
                                  std::vector<double>(some.data(), some.data() + some.size()));
    with_values(block, dtype,
                [&](auto values) { report.write(table_text(block.values.shape, values, style)); });
    style.columns.clear();
  }
}

std::string attribute_json(const PositionAttribute& value) {
  if (const auto* word = std::get_if<std::string>(&value)) return fmt::format("\"{}\"", *word);
  return std::visit(
      [](const auto& number) {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(number)>>) {
          return fmt::format("{}", number);
        }
        return std::string();
      },
      value);
}

void write_json(const PosencOptions& o, const PositionTables& tables,
                std::optional<double> deviation, cli::Report& report) {
  report.print("{{\"kind\": \"{}\"", tables.kind);
  for (const auto& [name, value] : tables.attributes) {
    report.print(", \"{}\": {}", name, attribute_json(value));
    // What this program's own options call them.
    if (name == "theta") report.print(", \"base\": {}", attribute_json(value));
    if (name == "convention" && o.kind == PositionKind::kRope) {
      report.print(", \"rope_style\": {}", attribute_json(value));
    }
  }
  if (deviation) report.print(", \"distance_deviation\": {}", *deviation);
  if (!tables.positions.empty()) {
    report.print(",\n \"positions\": [{}]", fmt::join(tables.positions, ", "));
  }
  for (const PositionPart& part : tables.parts) {
    if (part.name == "table") {
      report.print(", \"shape\": [{}]", fmt::join(part.values.shape, ", "));
    }
    with_values(part, tables.dtype, [&](auto values) {
      report.print(",\n \"{}\": {}", part.name, json_values(part.values.shape, values));
    });
  }
  report.write("}\n");
}

void write_deviation(const PosencOptions& o, std::optional<double> deviation, cli::Report& report) {
  if (!deviation) return;
  report.print("dot products at one distance differ by at most {:.2g} of {}\n", *deviation,
               o.kind == PositionKind::kRope ? "|q| |k|" : "the largest");
}

void write_text(const PosencOptions& o, const PositionTables& tables, bool numbers,
                std::optional<double> deviation, cli::Report& report) {
  report.print("{}\n", tables.title);
  write_deviation(o, deviation, report);
  if (!numbers) return;
  std::vector<const PositionPart*> shown;
  for (const PositionPart& part : tables.parts) {
    if (deviation ? part.name == "similarity" : !part.aside) shown.push_back(&part);
  }
  for (const PositionPart* part : shown) {
    if (shown.size() > 1) report.print("{} ({})\n", part->name, fmt::join(part->axes, ", "));
    with_values(*part, tables.dtype, [&](auto values) {
      report.write(readable_text(part->values.shape, values, {.whole = "--format tsv writes all"}));
    });
  }
}

}  // namespace

PositionPart chosen_part(const PosencOptions& o, const PositionTables& tables) {
  const bool rope = o.kind == PositionKind::kRope && !o.similarity;
  if (o.table.empty() && !rope) return tables.parts.front();
  if (o.table.empty() || (o.table == "cos_sin" && o.kind == PositionKind::kRope)) {
    const PositionPart* cos = nullptr;
    const PositionPart* sin = nullptr;
    for (const PositionPart& part : tables.parts) {
      if (part.name == "cos") cos = &part;
      if (part.name == "sin") sin = &part;
    }
    const Index half = cos->values.dim(1);
    PositionPart both{"cos_sin", Tensor<double>({cos->values.dim(0), 2 * half}), {}};
    both.columns = cos->columns;
    both.columns.insert(both.columns.end(), sin->columns.begin(), sin->columns.end());
    for (Index row = 0; row < cos->values.dim(0); ++row) {
      double* to = both.values.matrix().row(row);
      to = std::copy_n(cos->values.matrix().row(row), half, to);
      std::copy_n(sin->values.matrix().row(row), half, to);
    }
    return both;
  }
  std::vector<std::string> names;
  for (const PositionPart& part : tables.parts) {
    if (part.name == o.table) return part;
    names.push_back(part.name);
  }
  throw UsageError(fmt::format("--table: {} has no '{}'", tables.kind, escaped(o.table)),
                   {fmt::format("it has {}", fmt::join(names, ", "))});
}

void print_tables(const PosencOptions& o, const PositionTables& tables, const PositionPart& part,
                  std::optional<double> deviation, cli::Session& session) {
  cli::Report& report = session.report();
  switch (o.format) {
    case cli::Format::kTsv:
      write_rows(part, tables.dtype, '\t', o.long_form, report);
      break;
    case cli::Format::kCsv:
      write_rows(part, tables.dtype, ',', o.long_form, report);
      break;
    case cli::Format::kJson:
      write_json(o, tables, deviation, report);
      break;
    case cli::Format::kNpy:
      with_values(part, tables.dtype, [&](auto values) {
        report.write(as_text(npy_bytes(part.values.shape, values)));
      });
      break;
    default:
      if (o.show) {
        write_deviation(o, deviation, report);
        report.write(tables_picture(o, tables, session.terminal()));
      } else {
        write_text(o, tables, o.output.empty(), deviation, report);
      }
  }
}

}  // namespace attn
