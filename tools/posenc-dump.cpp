// posenc-dump: tables of positions, as numbers or as pictures.
//   posenc-dump --length 50 --dim 64 --show
//   posenc-dump --kind rope --length 128 --dim 64 -o rope.h5
//   posenc-dump --kind alibi --length 8 --heads 8 --json
//   posenc-dump -i model.h5 --format tsv

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/common_options.h"
#include "cli/picture.h"
#include "cli/tool.h"
#include "core/error.h"
#include "core/text.h"
#include "io/hdf5_reader.h"
#include "io/hdf5_version.h"
#include "io/hdf5_writer.h"
#include "io/npy.h"
#include "io/output.h"
#include "io/provenance.h"
#include "io/readable_text.h"
#include "io/table_text.h"
#include "model/position_tables.h"
#include "ops/positions.h"

namespace {

using namespace attn;

enum class Kind { kSinusoidal, kLearned, kRope, kAlibi };
enum class OddDim { kRefuse, kCeil };

struct Options {
  Kind kind = Kind::kSinusoidal;
  std::optional<Index> length;
  std::optional<Index> dim;
  double base = 10000.0;
  Index heads = 8;
  RopePairs rope_style = RopePairs::kHalves;
  OddDim odd = OddDim::kRefuse;
  std::string input;
  std::string dataset = "/parameters/positions.weight";
  Index max_bytes = cli::kDefaultMaxBytes;
  std::string output;
  cli::Format format = cli::Format::kText;
  std::string table;
  bool long_form = false;
  bool show = false;
};

void declare(cli::OptionTable& table, Options& o) {
  table.group("Positions");
  table.choice("kind", o.kind,
               std::vector<std::pair<std::string, Kind>>{{"sinusoidal", Kind::kSinusoidal},
                                                         {"learned", Kind::kLearned},
                                                         {"rope", Kind::kRope},
                                                         {"alibi", Kind::kAlibi}},
               "what marks a position; learned where there is an input");
  table.count("length", o.length, "positions from 0 on").letter('n').at_most(2147483647);
  table.count("dim", o.dim, "features of a row; of one head for rope").letter('d');
  table.real("base", o.base, "longest wavelength / 2 pi, of sinusoidal and rope").above(0);
  table.count("heads", o.heads, "query heads, of alibi").at_most(65536);
  table.choice("rope-style", o.rope_style,
               std::vector<std::pair<std::string, RopePairs>>{
                   {"half_split", RopePairs::kHalves}, {"interleaved", RopePairs::kInterleaved}},
               "which features rope pairs: (i, i + dim/2) or (2i, 2i + 1)");
  table.choice("odd", o.odd,
               std::vector<std::pair<std::string, OddDim>>{{"refuse", OddDim::kRefuse},
                                                           {"ceil", OddDim::kCeil}},
               "an odd sinusoidal dim: an error, or one sine more than cosines");
  table.group("Input (of learned)");
  cli::input_option(table, o.input, "checkpoint to take the table from, - for stdin");
  cli::dataset_option(table, o.dataset, "where the table is");
  cli::max_bytes_option(table, o.max_bytes);
  table.group("Output");
  cli::output_option(table, o.output);
  cli::format_options(table, o.format,
                      {cli::Format::kText, cli::Format::kTsv, cli::Format::kCsv, cli::Format::kJson,
                       cli::Format::kNpy});
  table
      .text("table", o.table,
            "which one tsv, csv and npy write: table; cos_sin, cos, sin, "
            "inv_freq of rope; bias, slopes of alibi")
      .argument("NAME")
      .not_data();
  table.flag("long", o.long_form, "tsv and csv: a line 'i j value' for each number").not_data();
  cli::show_options(table, o.show, "a heat map and some columns as curves");
  table.check([&o] {
    const bool rows = o.format == cli::Format::kTsv || o.format == cli::Format::kCsv;
    if (o.long_form && !rows) throw UsageError("--long goes with --format tsv or csv");
    if (!o.table.empty() && !rows && o.format != cli::Format::kNpy) {
      throw UsageError("--table chooses what --format tsv, csv or npy writes");
    }
  });
}

std::string_view kind_name(Kind kind) {
  constexpr std::array<std::string_view, 4> kNames = {"sinusoidal", "learned", "rope", "alibi"};
  return kNames[static_cast<std::size_t>(kind)];
}

// An option that this kind has no use for is a misunderstanding, and is said.
void check_options(const Options& o, const cli::Session& session) {
  const auto only_for = [&](const char* option, std::vector<Kind> kinds) {
    if (!session.given(option) || std::count(kinds.begin(), kinds.end(), o.kind) > 0) return;
    std::vector<std::string_view> names;
    names.reserve(kinds.size());
    for (const Kind kind : kinds) names.push_back(kind_name(kind));
    throw UsageError(fmt::format("--{} is for {} and not for {}", option, fmt::join(names, " and "),
                                 kind_name(o.kind)));
  };
  only_for("base", {Kind::kSinusoidal, Kind::kRope});
  only_for("dim", {Kind::kSinusoidal, Kind::kRope, Kind::kLearned});
  only_for("heads", {Kind::kAlibi});
  only_for("rope-style", {Kind::kRope});
  only_for("odd", {Kind::kSinusoidal});
  only_for("input", {Kind::kLearned});
  only_for("dataset", {Kind::kLearned});
  if (o.kind == Kind::kLearned) {
    if (o.input.empty()) throw UsageError("--input is missing: whose learned table");
    return;
  }
  if (!o.length) throw UsageError("--length is missing: how many positions");
  if (o.kind == Kind::kAlibi) return;
  if (!o.dim) throw UsageError("--dim is missing: how many features");
  if (*o.dim % 2 == 0 || o.odd == OddDim::kCeil) return;
  std::vector<std::string> hints;
  if (o.kind == Kind::kSinusoidal) {
    hints.push_back(
        fmt::format("--odd ceil makes {} sines and {} cosines", (*o.dim + 1) / 2, *o.dim / 2));
  }
  throw UsageError(fmt::format("dim must be even, got {}", *o.dim), hints);
}

PositionTables learned(const Options& o, const Hdf5Reader& file, bool dataset_given) {
  if (!dataset_given) {
    const std::string position = file.text_attribute("/", "position").value_or("learned");
    if (position != "learned") {
      throw DataError(fmt::format("{}: its positions are '{}', so there is no learned table",
                                  file.name(), escaped(position)),
                      {"--kind computes the table of any other kind"});
    }
  }
  PositionTables tables = learned_tables(file, o.dataset, o.length.value_or(0), o.max_bytes);
  const Index width = tables.parts.front().values.dim(1);
  if (o.dim && *o.dim != width) {
    throw UsageError(fmt::format("--dim {} is not the width {} of {}", *o.dim, width, file.name()));
  }
  return tables;
}

PositionTables computed(const Options& o) {
  switch (o.kind) {
    case Kind::kRope:
      return rope_tables(*o.length, *o.dim, o.base, o.rope_style, o.max_bytes);
    case Kind::kAlibi:
      return alibi_tables(*o.length, o.heads, o.max_bytes);
    default:
      return sinusoidal_tables(*o.length, *o.dim, o.base, o.max_bytes);
  }
}

// What tsv, csv and npy write. Rope's cosines and sines stand beside each other unless one is
// asked for.
PositionPart chosen(const Options& o, const PositionTables& tables) {
  if (o.table.empty() && o.kind != Kind::kRope) return tables.parts.front();
  if (o.table.empty() || (o.table == "cos_sin" && o.kind == Kind::kRope)) {
    const Matrix<const float> cos = tables.parts[0].values.matrix();
    const Matrix<const float> sin = tables.parts[1].values.matrix();
    PositionPart both{"cos_sin", Tensor<float>({cos.rows(), 2 * cos.cols()}), {}};
    both.columns = tables.parts[0].columns;
    both.columns.insert(both.columns.end(), tables.parts[1].columns.begin(),
                        tables.parts[1].columns.end());
    for (Index row = 0; row < cos.rows(); ++row) {
      float* to = both.values.matrix().row(row);
      std::copy_n(sin.row(row), sin.cols(), std::copy_n(cos.row(row), cos.cols(), to));
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

// Row by row in blocks, so that a reader who has seen enough ends it early.
void write_rows(const PositionPart& part, char separator, bool long_form, cli::Report& report) {
  if (long_form || part.values.rank() < 2) {
    TableStyle style{.separator = separator, .long_form = long_form, .title = {}, .columns = {}};
    if (!long_form) style.columns = {part.name};
    report.write(table_text(part.values.shape, std::span<const float>(part.values.values), style));
    return;
  }
  constexpr Index kBlock = 512;
  const Matrix<const float> rows = part.values.matrix();
  TableStyle style{
      .separator = separator, .long_form = false, .title = {}, .columns = part.columns};
  for (Index first = 0; first < rows.rows(); first += kBlock) {
    const Matrix<const float> block = rows.row_block(first, std::min(kBlock, rows.rows() - first));
    report.write(table_text({block.rows(), block.cols()},
                            std::span(block.data(), static_cast<std::size_t>(block.size())),
                            style));
    style.columns.clear();
  }
}

void write_json(const Options& o, const PositionTables& tables, cli::Report& report) {
  report.print("{{\"kind\": \"{}\"", tables.kind);
  if (o.kind == Kind::kSinusoidal || o.kind == Kind::kRope) report.print(", \"base\": {}", o.base);
  if (o.kind == Kind::kRope) {
    report.print(", \"rope_style\": \"{}\"",
                 o.rope_style == RopePairs::kHalves ? "half_split" : "interleaved");
  }
  for (const PositionPart& part : tables.parts) {
    if (part.name == "table") {
      report.print(", \"shape\": [{}]", fmt::join(part.values.shape, ", "));
    }
    report.print(",\n \"{}\": {}", part.name,
                 json_values(part.values.shape, std::span<const float>(part.values.values)));
  }
  report.write("}\n");
}

std::string picture(const Options& o, const PositionTables& tables, const cli::Terminal& terminal) {
  const PositionPart& first = tables.parts.front();
  if (o.kind == Kind::kAlibi) {
    std::vector<cli::HeatMap> maps;
    const Index n = *o.length;
    const float lowest = *std::min_element(first.values.values.begin(), first.values.values.end());
    for (Index head = 0; head < o.heads; ++head) {
      maps.push_back(
          {.title = fmt::format("head {} slope {:.4g}", head, tables.parts[1].values.data()[head]),
           .values = {first.values.data() + head * n * n, n, n},
           .rows_are = "query",
           .cols_are = "key",
           .low = std::min(-1.0, static_cast<double>(lowest)),
           .high = 0.0,
           .argmax = false});
    }
    return cli::heat_maps(maps, terminal);
  }
  const Matrix<const float> rows = first.values.matrix();
  float largest = 0;
  for (const float value : first.values.values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  const double end = o.kind == Kind::kLearned && largest > 0 ? static_cast<double>(largest) : 1.0;
  std::string text = cli::heat_map({.title = tables.title,
                                    .values = rows,
                                    .rows_are = "position",
                                    .cols_are = first.axes[1],
                                    .low = -end,
                                    .high = end,
                                    .argmax = false},
                                   terminal);
  // One fast column, one medium, two slow ones.
  cli::Chart chart{.title = "columns against position", .x_is = "position"};
  std::vector<Index> columns;
  for (const Index part : {0, 8, 16, 32}) {
    const Index column = std::min(rows.cols() * part / 64, rows.cols() - 1);
    if (std::count(columns.begin(), columns.end(), column) > 0) continue;
    columns.push_back(column);
    cli::Curve curve;
    curve.label = first.columns.empty() ? fmt::format("feature {}", column)
                                        : first.columns[static_cast<std::size_t>(column)];
    for (Index row = 0; row < rows.rows(); ++row) {
      curve.y.push_back(static_cast<double>(rows(row, column)));
    }
    chart.curves.push_back(std::move(curve));
  }
  return text + "\n" + cli::chart(chart, terminal);
}

void write_text(const PositionTables& tables, bool numbers, cli::Report& report) {
  report.print("{}\n", tables.title);
  if (!numbers) return;
  for (const PositionPart& part : tables.parts) {
    if (tables.parts.size() > 1) report.print("{} ({})\n", part.name, fmt::join(part.axes, ", "));
    report.write(readable_text(part.values.shape, std::span<const float>(part.values.values),
                               {.whole = "--format tsv writes all"}));
  }
}

void write_report(const Options& o, const PositionTables& tables, const PositionPart& part,
                  cli::Session& session) {
  cli::Report& report = session.report();
  switch (o.format) {
    case cli::Format::kTsv:
      write_rows(part, '\t', o.long_form, report);
      break;
    case cli::Format::kCsv:
      write_rows(part, ',', o.long_form, report);
      break;
    case cli::Format::kJson:
      write_json(o, tables, report);
      break;
    case cli::Format::kNpy:
      report.write(as_text(npy_bytes(part.values)));
      break;
    default:
      if (o.show) {
        report.write(picture(o, tables, session.terminal()));
      } else {
        write_text(tables, o.output.empty(), report);
      }
  }
}

int run(const Options& options, cli::Session& session) {
  Options o = options;
  if (!session.given("kind") && !o.input.empty()) o.kind = Kind::kLearned;
  check_options(o, session);
  Provenance provenance;
  provenance.command = session.history();
  PositionTables tables;
  if (o.kind == Kind::kLearned) {
    const Hdf5Reader file = Hdf5Reader::open(o.input, {.max_bytes = o.max_bytes});
    tables = learned(o, file, session.given("dataset"));
    provenance.earlier_history = read_history(file);
  } else {
    tables = computed(o);
  }
  // The file first: where it cannot be written, nothing is reported. A wrong --table is seen
  // before.
  const PositionPart part = chosen(o, tables);
  if (!o.output.empty()) {
    Hdf5Writer writer;
    write_position_tables(writer, tables);
    write_provenance(writer, provenance);
    write_output(o.output, writer.finish());
  }
  if (session.report().wanted()) write_report(o, tables, part, session);
  return cli::kDone;
}

}  // namespace

int main(int argc, char** argv) {
  return cli::tool_main<Options>(
      {.name = "posenc-dump",
       .summary = "tables of positions: sinusoidal, learned, rope, alibi",
       .usage = "[OPTIONS] [CHECKPOINT]",
       .examples = {{"posenc-dump --length 50 --dim 64 --show", "fast stripes left, slow right"},
                    {"posenc-dump --kind rope --length 128 --dim 64 -o rope.h5",
                     "cos and sin of the angles, and the frequencies"},
                    {"posenc-dump --kind alibi --length 8 --heads 8 --json", ""},
                    {"posenc-dump -i model.h5 --format tsv", "the learned table of a checkpoint"},
                    {"posenc-dump --length 50 --dim 64 -o - | tensor-show -i - --dataset /table",
                     ""}},
       .versions = [] { return std::vector<std::string>{hdf5_version()}; }},
      argc, argv, declare, run);
}
