#include "kvcache-bench/quality.h"

#include <fmt/core.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench_columns.h"
#include "bench/quality.h"
#include "cli/exit_code.h"
#include "cli/table.h"
#include "core/counted.h"
#include "core/error.h"
#include "core/text.h"
#include "io/byte_source.h"
#include "io/hdf5_reader.h"
#include "io/output.h"
#include "io/provenance.h"
#include "kvcache-bench/columns.h"
#include "kvcache-bench/rounds.h"
#include "model/checkpoint.h"
#include "model/scoring.h"
#include "text/id_tokenizer.h"

namespace attn {
namespace {

// Those of llama.cpp's that people choose between, and what they stand beside.
std::vector<KvTypes> usual_pairs(Index head_dim, const cli::Session& session) {
  std::vector<KvTypes> pairs = {{KvType::kF16, KvType::kF16}, {KvType::kBF16, KvType::kBF16}};
  try {
    kv_row_bytes<float>(KvType::kQ8_0, 1, head_dim);
  } catch (const UsageError& error) {
    session.note(fmt::format("without q8_0 and q4_0: {}", error.what()));
    return pairs;
  }
  for (const KvType keys : {KvType::kQ8_0, KvType::kQ4_0}) {
    for (const KvType values : {KvType::kQ8_0, KvType::kQ4_0}) pairs.push_back({keys, values});
  }
  return pairs;
}

std::vector<KvTypes> pairs_of(const BenchOptions& o, Index head_dim, const cli::Session& session) {
  if (!o.quality.types_given) return usual_pairs(head_dim, session);
  std::vector<KvTypes> pairs;
  for (const KvType keys : o.k_types) {
    for (const KvType values : o.v_types) pairs.push_back({keys, values});
  }
  return pairs;
}

std::vector<Index> tokens_of(const std::string& text, const std::string& name,
                             const Tokenizer& tokenizer) {
  try {
    return tokenizer.encode(text);
  } catch (const UsageError& error) {
    throw DataError(fmt::format("{}: {}", name, error.what()), error.hints());
  }
}

std::vector<BenchColumn> columns_of(const Quality& quality) {
  using Texts = BenchColumn::Texts;
  using Reals = BenchColumn::Reals;
  ColumnBuilder<QualityRow> table(quality.rows);
  const auto real = [&table](const char* name, double QualityRow::*field) {
    table.add<Reals>(name, [field](const QualityRow& row) { return row.*field; });
  };
  table.add<Texts>("k_dtype", [](const QualityRow& row) { return kv_type_name(row.types.keys); });
  table.add<Texts>("v_dtype", [](const QualityRow& row) { return kv_type_name(row.types.values); });
  table.add<BenchColumn::Counts>("bytes_per_token",
                                 [](const QualityRow& row) { return row.bytes_per_token; });
  real("loss", &QualityRow::loss);
  table.add<Reals>("perplexity", [](const QualityRow& row) { return row.perplexity(); });
  real("kl_mean", &QualityRow::mean_divergence);
  real("kl_p99", &QualityRow::high_divergence);
  real("kl_max", &QualityRow::largest_divergence);
  real("same_top", &QualityRow::same_top);
  table.add<BenchColumn::OptionalCounts>("worst_layer",
                                         [](const QualityRow& row) { return row.worst_layer(); });
  table.add<Reals>("worst_layer_kl", [](const QualityRow& row) {
    const std::optional<Index> worst = row.worst_layer();
    return worst ? row.layer_divergence[static_cast<std::size_t>(*worst)] : 0;
  });
  return table.take();
}

std::string people_report(const Quality& quality, const std::string& headline, bool markdown) {
  cli::Table table({{"keys/values", cli::Table::Align::kLeft},
                    {"bytes/token"},
                    {"loss"},
                    {"perplexity"},
                    {"KL mean"},
                    {"KL 99 %"},
                    {"KL max"},
                    {"same top %"},
                    {"worst layer"}});
  for (const QualityRow& row : quality.rows) {
    const auto divergence = [&row](double value) {
      return row.types.exact() ? "-" : fmt::format("{:.2e}", value);
    };
    const std::optional<Index> worst = row.worst_layer();
    std::string layer = "-";
    if (worst) {
      layer =
          fmt::format("{}: {:.2e}", *worst, row.layer_divergence[static_cast<std::size_t>(*worst)]);
    }
    table.add({both_types_name(row.types), grouped(row.bytes_per_token),
               fmt::format("{:.6f}", row.loss), real_cell(row.perplexity(), 4),
               divergence(row.mean_divergence), divergence(row.high_divergence),
               divergence(row.largest_divergence), fmt::format("{:.2f}", 100 * row.same_top),
               std::move(layer)});
  }
  return headline + "\n\n" + people_table(table, markdown) + '\n' +
         joined_lines({"KL: divergence from f32 after a token, in nats: mean, 99 of 100, largest",
                       "worst layer: the one that, stored so alone, diverges most on average"},
                      markdown);
}

std::string report_of(const Quality& quality, const BenchContext& context,
                      const std::string& headline, cli::Format format) {
  const std::vector<BenchColumn> columns = columns_of(quality);
  std::vector<cli::Json> rows;
  for (std::size_t row = 0; row < quality.rows.size(); ++row) {
    rows.push_back(json_row(columns, row));
    rows.back()["layer_kl"] = quality.rows[row].layer_divergence;
  }
  switch (format) {
    case cli::Format::kTsv:
      return column_table(columns).tsv();
    case cli::Format::kCsv:
      return column_table(columns).csv();
    case cli::Format::kJson:
      return cli::json_text({{"schema", 1}, {"context", json_context(context)}, {"results", rows}});
    case cli::Format::kJsonLines:
      return json_lines(context, rows);
    default:
      return people_report(quality, headline, format == cli::Format::kMarkdown);
  }
}

void write_quality(Hdf5Writer& writer, const BenchContext& context, const Quality& quality) {
  write_columns(writer, context, columns_of(quality));
  std::vector<double> layers;
  for (const QualityRow& row : quality.rows)
    layers.insert(layers.end(), row.layer_divergence.begin(), row.layer_divergence.end());
  const auto rows = static_cast<Index>(quality.rows.size());
  writer.dataset("/results/layer_kl", {rows, static_cast<Index>(layers.size()) / rows},
                 layers.data());
}

}  // namespace

int run_quality(const BenchOptions& o, cli::Session& session) {
  if (!o.output.empty()) check_output(o.output, {o.input, o.quality.text});
  ReadLimits limits;
  limits.max_bytes = o.max_bytes;
  const Hdf5Reader reader = Hdf5Reader::open(o.input, limits);
  const std::string history = read_history(reader);
  const Checkpoint checkpoint = read_checkpoint(reader);
  const ModelConfig& config = checkpoint.model->config();
  if (config.arch != Arch::kDecoder) {
    throw DataError(fmt::format("{}: only a decoder foretells a text, this is of arch {}",
                                reader.name(), enum_name(config.arch)));
  }
  const std::vector<KvTypes> pairs = pairs_of(o, config.head_dim, session);
  std::shared_ptr<const Tokenizer> tokenizer = checkpoint.tokenizer;
  if (!tokenizer) tokenizer = std::make_shared<IdTokenizer>(config.vocab_size);
  const ByteSource text = ByteSource::open(o.quality.text, o.max_bytes);
  const std::vector<Index> all =
      tokens_of(std::string(as_text(text.bytes())), text.name(), *tokenizer);
  const std::span<const Index> ids = last_share(all, o.quality.val_fraction.value_or(1));
  if (ids.size() < 2) {
    throw DataError(fmt::format("{}: too little to foretell: {}, and the first is given",
                                text.name(), counted(std::ssize(ids), "token")));
  }
  const Index window = o.quality.window.value_or(usual_window(config));
  Quality quality;
  measure_with_progress(session, "windows", [&](const auto& progress) {
    quality = measure_quality(*checkpoint.model, ids, window, pairs, static_cast<int>(o.threads),
                              progress);
  });
  const BenchContext context = {{"subject", std::string("model")}, {"layers", config.depth},
                                {"heads", config.heads},           {"kv_heads", config.kv_heads},
                                {"head_dim", config.head_dim},     {"tokens", quality.targets},
                                {"window", quality.window},        {"windows", quality.windows}};
  if (!o.output.empty()) {
    write_bench_file(o, session, history,
                     [&](Hdf5Writer& writer) { write_quality(writer, context, quality); });
  }
  const std::string headline = fmt::format(
      "a model of {}, {} query and {} kv heads of {}: {} tokens in {} of {}",
      counted(config.depth, "layer"), config.heads, config.kv_heads, config.head_dim,
      grouped(quality.targets), counted(quality.windows, "window"), grouped(quality.window));
  session.report().write(report_of(quality, context, headline, o.format));
  session.did(fmt::format("measured {} over {} of {}",
                          counted(std::ssize(quality.rows), "pair") + " of types",
                          counted(quality.targets, "token"), text.name()));
  return cli::kDone;
}

}  // namespace attn
