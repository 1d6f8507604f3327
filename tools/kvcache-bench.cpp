// Decoding with and without a key-value cache: rows counted, outputs compared, times taken.
//
//   kvcache-bench --preset tutorial
//   kvcache-bench --dim 512 --heads 8 --kv-heads 8,2,1 --tokens 128-512*2 -o bench.h5
//   kvcache-bench -i model.h5 --prompt 64 --new-tokens 64 --format md
//   kvcache-bench --dim 8 --heads 1 --tokens 1-64 --counts-only --format tsv

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/bench_table.h"
#include "bench/cache_experiment.h"
#include "bench/cache_summary.h"
#include "bench/doubts.h"
#include "bench/layer_subject.h"
#include "bench/machine.h"
#include "bench/model_subject.h"
#include "bench/stopwatch.h"
#include "cli/common_options.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/tool.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/text.h"
#include "io/output.h"
#include "io/provenance.h"
#include "model/checkpoint.h"
#include "ops/gemm.h"

namespace {

using namespace attn;

struct Options {
  std::string input;
  std::string output;
  std::string preset;
  LayerShape layer;
  std::optional<Index> head_dim;
  std::vector<Index> kv_heads;
  std::vector<Index> tokens = {512};
  std::vector<Index> prompt = {1};
  std::vector<Index> new_tokens = {64};
  bool prompt_apart = false;  // --prompt or --new-tokens instead of --tokens
  std::vector<CacheKind> caches = {CacheKind::kContiguous, CacheKind::kNone};
  bool counts_only = false;
  Index repeats = 7;
  Index warmup = 3;
  Index seed = 0;
  Index threads = available_threads();
  Index max_bytes = cli::kDefaultMaxBytes;
  cli::Format format = cli::Format::kText;
};

// One way or several, with commas between.
std::vector<CacheKind> parse_caches(std::string_view text) {
  std::vector<CacheKind> caches;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string_view word = text.substr(start, end - start);
    start = end + 1;
    CacheKind kind = CacheKind::kNone;
    if (word == cache_name(CacheKind::kContiguous)) {
      kind = CacheKind::kContiguous;
    } else if (word != cache_name(CacheKind::kNone)) {
      throw UsageError("--cache must be contiguous, none or both: " + escaped(word));
    }
    if (std::find(caches.begin(), caches.end(), kind) != caches.end())
      throw UsageError("--cache names one twice: " + escaped(text));
    caches.push_back(kind);
  }
  return caches;
}

void check_combinations(const cli::OptionTable& table, Options& o) {
  const auto refuse_beside = [&](const char* option, std::initializer_list<const char*> others) {
    if (!table.given(option)) return;
    for (const char* other : others) {
      if (table.given(other))
        throw UsageError(fmt::format("--{} and --{} do not go together", option, other));
    }
  };
  refuse_beside("preset", {"input", "dim", "heads", "kv-heads", "head-dim", "tokens", "prompt",
                           "new-tokens"});
  refuse_beside("input", {"dim", "heads", "kv-heads", "head-dim"});
  refuse_beside("tokens", {"prompt", "new-tokens"});
  refuse_beside("counts-only", {"repeats", "warmup"});
  o.prompt_apart = table.given("prompt") || table.given("new-tokens");
  if (!o.input.empty()) return;
  if (!o.head_dim && o.layer.dim % o.layer.heads != 0) {
    throw UsageError(
        fmt::format("--heads must divide --dim: {} does not divide {}", o.layer.heads, o.layer.dim),
        {"--head-dim N sets the features of a head apart from --dim"});
  }
  o.layer.head_dim = o.head_dim.value_or(o.layer.dim / o.layer.heads);
  if (o.kv_heads.empty()) o.kv_heads = {o.layer.heads};
  for (const Index kv_heads : o.kv_heads) {
    LayerShape shape = o.layer;
    shape.kv_heads = kv_heads;
    validate(shape);
  }
}

void declare(cli::OptionTable& table, Options& o) {
  table.group("What decodes");
  cli::input_option(table, o.input, "checkpoint whose model decodes, - for stdin; else one layer");
  table.choice("preset", o.preset, {"tutorial"},
               "the tutorial's: width 512, 8 heads, 512 tokens, one layer");
  table.count("dim", o.layer.dim, "width of the layer");
  table.count("heads", o.layer.heads, "query heads");
  table.counts("kv-heads", o.kv_heads, "key-value heads to compare").default_is("--heads");
  table.count("head-dim", o.head_dim, "features of a head").default_is("dim / heads");
  table.group("What is decoded");
  table.counts("tokens", o.tokens, "n given tokens, one by one");
  table.counts("prompt", o.prompt, "or: P tokens at once ...");
  table.counts("new-tokens", o.new_tokens, "... and N after them, the last never fed back");
  table.custom(
      "cache", "LIST", [&o](std::string_view text) { o.caches = parse_caches(text); },
      "ways to compare: contiguous, none (default both)");
  cli::seed_option(table, o.seed);
  table.group("How it is measured");
  table.flag("counts-only", o.counts_only, "count and compare, take no times");
  table.count("repeats", o.repeats, "timed rounds");
  table.count("warmup", o.warmup, "rounds before them, in full").at_least(0);
  cli::threads_option(table, o.threads);
  table.group("Results");
  cli::output_option(table, o.output);
  cli::format_options(table, o.format,
                      {cli::Format::kText, cli::Format::kMarkdown, cli::Format::kTsv,
                       cli::Format::kCsv, cli::Format::kJson});
  cli::max_bytes_option(table, o.max_bytes);
  cli::progress_option(table);
  table.check([&table, &o] { check_combinations(table, o); });
}

std::vector<DecodeWork> work_of(const Options& o) {
  std::vector<DecodeWork> work;
  if (!o.prompt_apart) {
    for (const Index n : o.tokens) work.push_back({0, n});
    return work;
  }
  for (const Index prompt : o.prompt) {
    for (const Index new_tokens : o.new_tokens) work.push_back({prompt, new_tokens});
  }
  return work;
}

// Most tokens of any work; throws where it could not be counted.
Index capacity_of(const std::vector<DecodeWork>& work) {
  Index capacity = 1;
  for (const DecodeWork& one : work) {
    if (!checked_add(one.prompt, one.new_tokens))
      throw UsageError("--prompt and --new-tokens together leave 63 bits");
    capacity = std::max(capacity, one.total());
  }
  return capacity;
}

// Before memory is taken: an allocation that the system promises and cannot give ends in a kill.
void require_memory(double bytes) {
  const Index available = available_memory();
  if (bytes <= static_cast<double>(available)) return;
  throw DataError(
      fmt::format("needs {} of memory, {} are free",
                  bytes < 9e18 ? short_size_text(static_cast<Index>(bytes)) : "more than 8 EiB",
                  short_size_text(available)));
}

std::vector<std::unique_ptr<DecodeSubject>> make_subjects(const Options& o, Index capacity,
                                                          std::string& history) {
  std::vector<std::unique_ptr<DecodeSubject>> subjects;
  const auto seed = static_cast<std::uint64_t>(o.seed);
  const int threads = static_cast<int>(o.threads);
  if (!o.input.empty()) {
    ReadLimits limits;
    limits.max_bytes = o.max_bytes;
    const Hdf5Reader reader = Hdf5Reader::open(o.input, limits);
    history = read_history(reader);
    const ModelConfig config = read_model_config(reader).completed();
    if (config.arch != Arch::kDecoder) {
      throw DataError(fmt::format("{}: only a decoder can decode, this is of arch {}",
                                  reader.name(), enum_name(config.arch)));
    }
    require_memory(model_subject_bytes(config, capacity));
    subjects.push_back(
        std::make_unique<ModelSubject>(read_model<float>(reader), capacity, threads, seed));
    return subjects;
  }
  double bytes = 0;
  LayerShape shape = o.layer;
  for (const Index kv_heads : o.kv_heads) {
    shape.kv_heads = kv_heads;
    bytes += layer_subject_bytes(shape, capacity);
  }
  require_memory(bytes);
  for (const Index kv_heads : o.kv_heads) {
    shape.kv_heads = kv_heads;
    subjects.push_back(std::make_unique<LayerSubject>(shape, capacity, threads, seed));
  }
  return subjects;
}

// What is decoded; with --counts-only all there is to say, so that it is the same everywhere.
BenchContext work_context(const Options& o, const CacheExperiment& experiment) {
  const DecodeSubject& subject = experiment.subject(experiment.rows().front());
  BenchContext context;
  context.emplace_back("subject", std::string(o.input.empty() ? "layer" : "model"));
  context.emplace_back("layers", subject.layers());
  context.emplace_back("heads", subject.heads());
  if (o.input.empty()) {
    context.emplace_back("dim", o.layer.dim);
    context.emplace_back("head_dim", o.layer.head_dim);
  }
  context.emplace_back("dtype", std::string("f32"));
  return context;
}

void note_context(const cli::Session& session, const Options& o, const Machine& machine) {
  session.note(fmt::format("{} | {} {}, {}, {} thread{} | {}, L2 {}, L3 {}", cli::tool_version(),
                           build_type(), compiler(), blas_description(), o.threads,
                           o.threads == 1 ? "" : "s",
                           machine.cpu.empty() ? "unknown processor" : escaped(machine.cpu),
                           short_size_text(machine.l2_bytes), short_size_text(machine.l3_bytes)));
}

constexpr auto kLeft = cli::Table::Align::kLeft;
constexpr auto kRight = cli::Table::Align::kRight;

// The columns that say which row it is, in all tables for people.
std::vector<cli::Table::Column> key_columns(const Options& o) {
  std::vector<cli::Table::Column> columns = {{"kv", kRight}, {"cache", kLeft}, {"phase", kLeft}};
  if (o.prompt_apart) {
    columns.push_back({"P", kRight});
    columns.push_back({"N", kRight});
  }
  columns.push_back({"tokens", kRight});
  return columns;
}

std::vector<std::string> key_cells(const Options& o, const CacheRow& row) {
  std::vector<std::string> cells = {grouped(row.kv_heads), std::string(cache_name(row.cache)),
                                    row.phase};
  if (o.prompt_apart) {
    cells.push_back(grouped(row.work.prompt));
    cells.push_back(grouped(row.work.new_tokens));
  }
  cells.push_back(grouped(row.tokens));
  return cells;
}

cli::Table count_table(const Options& o, const CacheExperiment& experiment) {
  std::vector<cli::Table::Column> columns = key_columns(o);
  columns.insert(columns.end(),
                 {{"key rows", kRight}, {"formula", kLeft}, {"cache bytes", kRight}});
  cli::Table table(std::move(columns));
  for (const CacheRow& row : experiment.rows()) {
    std::vector<std::string> cells = key_cells(o, row);
    const bool right = row.key_rows == row.key_rows_expected;
    cells.push_back(grouped(row.key_rows));
    cells.push_back(
        right ? row.formula
              : fmt::format("WRONG: {} = {}", row.formula, grouped(row.key_rows_expected)));
    cells.push_back(row.cache == CacheKind::kNone ? "-" : grouped(row.cache_bytes));
    table.add(std::move(cells));
  }
  return table;
}

std::string real_cell(std::optional<double> value, int digits) {
  return value && std::isfinite(*value) ? fmt::format("{:.{}f}", *value, digits) : "-";
}

cli::Table time_table(const Options& o, const CacheExperiment& experiment) {
  std::vector<cli::Table::Column> columns = key_columns(o);
  for (const char* name : {"median ms", "iqr %", "cpu ms", "tok/s", "read GB/s", "of sweep %"}) {
    columns.push_back({name, kRight});
  }
  cli::Table table(std::move(columns));
  for (const CacheRow& row : experiment.rows()) {
    std::vector<std::string> cells = key_cells(o, row);
    std::optional<double> share;
    if (row.bandwidth() && row.reference_bandwidth)
      share = 100 * *row.bandwidth() / *row.reference_bandwidth;
    cells.push_back(real_cell(row.wall.median() * 1e-6, 3));
    cells.push_back(real_cell(100 * row.wall.relative_iqr(), 1));
    cells.push_back(real_cell(row.cpu.median() * 1e-6, 3));
    cells.push_back(real_cell(row.tokens_per_second(), 0));
    cells.push_back(row.bandwidth() ? real_cell(*row.bandwidth() * 1e-9, 1) : "-");
    cells.push_back(real_cell(share, 0));
    table.add(std::move(cells));
  }
  return table;
}

// Markdown joins lines into one paragraph: there they are a list.
std::string joined(const std::vector<std::string>& lines, bool markdown) {
  std::string text;
  for (const std::string& line : lines) text += (markdown ? "- " : "") + line + "\n";
  return text;
}

std::string people_report(const Options& o, const CacheExperiment& experiment, bool timed) {
  const bool markdown = o.format == cli::Format::kMarkdown;
  const auto table_text = [&](const cli::Table& table) {
    return markdown ? table.markdown() : table.text();
  };
  const DecodeSubject& subject = experiment.subject(experiment.rows().front());
  std::string text =
      o.input.empty() ? fmt::format("one attention layer, width {}, {} query heads of {}, f32\n\n",
                                    o.layer.dim, o.layer.heads, o.layer.head_dim)
                      : fmt::format("a model of {} layers, {} query heads, f32\n\n",
                                    subject.layers(), subject.heads());
  text += table_text(count_table(o, experiment));
  text += "\n" + joined(verdict_lines(experiment.agreement(), o.counts_only), markdown);
  if (timed) text += "\n" + table_text(time_table(o, experiment));
  const std::vector<CachePair> pairs = cache_pairs(experiment.rows());
  const std::string ratios = joined(ratio_lines(pairs), markdown);
  if (!ratios.empty()) text += "\n" + ratios;
  return text + joined(crossover_lines(pairs), markdown);
}

std::string cell_text(const BenchColumn& column, std::size_t row) {
  if (const auto* texts = std::get_if<BenchColumn::Texts>(&column.values)) return (*texts)[row];
  if (const auto* reals = std::get_if<BenchColumn::Reals>(&column.values)) {
    return std::isfinite((*reals)[row]) ? fmt::format("{}", (*reals)[row]) : "nan";
  }
  const std::optional<Index> count = std::get<BenchColumn::Counts>(column.values)[row];
  return count ? fmt::format("{}", *count) : "nan";
}

cli::Table plain_table(const std::vector<BenchColumn>& columns, std::size_t rows) {
  std::vector<cli::Table::Column> names;
  names.reserve(columns.size());
  for (const BenchColumn& column : columns) names.push_back({column.name, kRight});
  cli::Table table(std::move(names));
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<std::string> cells;
    cells.reserve(columns.size());
    for (const BenchColumn& column : columns) cells.push_back(cell_text(column, row));
    table.add(std::move(cells));
  }
  return table;
}

cli::Json json_cell(const BenchColumn& column, std::size_t row) {
  if (const auto* texts = std::get_if<BenchColumn::Texts>(&column.values)) return (*texts)[row];
  if (const auto* reals = std::get_if<BenchColumn::Reals>(&column.values))
    return cli::json_number((*reals)[row]);
  const std::optional<Index> count = std::get<BenchColumn::Counts>(column.values)[row];
  return count ? cli::Json(*count) : cli::Json();
}

cli::Json json_fact(const BenchFact& fact) {
  if (const auto* text = std::get_if<std::string>(&fact)) return *text;
  if (const auto* count = std::get_if<Index>(&fact)) return *count;
  return cli::json_number(std::get<double>(fact));
}

std::string json_report(const Options& o, const CacheExperiment& experiment, bool timed,
                        const BenchContext& context, const std::vector<BenchColumn>& columns) {
  const Agreement& agreement = experiment.agreement();
  cli::Json document;
  document["schema"] = 1;
  document["context"] = cli::Json::object();
  for (const auto& fact : context) document["context"][fact.first] = json_fact(fact.second);
  document["counts_agree"] = agreement.counts;
  document["outputs_agree"] = agreement.compared ? cli::Json(agreement.outputs) : cli::Json();
  if (agreement.compared && !o.counts_only) {
    document["max_difference"] = cli::json_number(agreement.max_difference);
    document["max_difference_bound"] = cli::json_number(agreement.bound);
  }
  document["results"] = cli::Json::array();
  for (std::size_t row = 0; row < experiment.rows().size(); ++row) {
    cli::Json result;
    for (const BenchColumn& column : columns) result[column.name] = json_cell(column, row);
    if (timed) {
      result["samples_ns"] = experiment.rows()[row].wall.values();
      result["cpu_samples_ns"] = experiment.rows()[row].cpu.values();
    }
    document["results"].push_back(std::move(result));
  }
  document["comparisons"] = cli::Json::array();
  for (const CachePair& pair : cache_pairs(experiment.rows())) {
    cli::Json comparison;
    comparison["kv_heads"] = pair.with->kv_heads;
    comparison["prompt"] = pair.with->work.prompt;
    comparison["new_tokens"] = pair.with->work.new_tokens;
    comparison["key_rows_ratio"] = cli::json_number(pair.row_ratio());
    if (timed) comparison["time_ratio"] = cli::json_number(pair.time_ratio());
    document["comparisons"].push_back(std::move(comparison));
  }
  return cli::json_text(document);
}

std::string report_text(const Options& o, const CacheExperiment& experiment, bool timed,
                        const BenchContext& context) {
  const std::vector<BenchColumn> columns = bench_columns(experiment, timed);
  const auto plain = [&] { return plain_table(columns, experiment.rows().size()); };
  switch (o.format) {
    case cli::Format::kTsv:
      return plain().tsv();
    case cli::Format::kCsv:
      return plain().csv();
    case cli::Format::kJson:
      return json_report(o, experiment, timed, context, columns);
    default:
      return people_report(o, experiment, timed);
  }
}

void write_file(const Options& o, const cli::Session& session, const CacheExperiment& experiment,
                bool timed, const BenchContext& context, const std::string& earlier_history) {
  Hdf5Writer writer;
  Provenance provenance;
  provenance.format = "attntools-bench";
  provenance.seed = o.seed;
  provenance.command = session.history();
  provenance.earlier_history = earlier_history;
  write_provenance(writer, provenance);
  write_bench(writer, context, bench_columns(experiment, timed), experiment.rows());
  write_output(o.output, writer.finish());
}

int run(const Options& o, cli::Session& session) {
  const std::vector<DecodeWork> work = work_of(o);
  const Index capacity = capacity_of(work);
  if (!o.output.empty()) check_output(o.output, {o.input});
  std::string history;
  CacheExperiment experiment(make_subjects(o, capacity, history), work, o.caches);
  BenchContext context = work_context(o, experiment);
  const Machine machine = this_machine();
  if (!o.counts_only) {
    add_machine(context, machine);
    context.emplace_back("threads", o.threads);
    context.emplace_back("warmup", o.warmup);
    context.emplace_back("repeats", o.repeats);
    note_context(session, o, machine);
    for (const auto& doubt : doubts_before(machine, build_type(), o.threads)) session.warn(doubt);
  }
  experiment.verify();
  // Times of what computes something else would be believed.
  const bool agreed = experiment.agreement().counts && experiment.agreement().outputs;
  const bool timed = agreed && !o.counts_only;
  if (timed) {
    // What is over in a moment needs no word.
    constexpr std::int64_t kSilentNs = 2'000'000'000;
    const Stopwatch watch;
    std::optional<cli::Progress> progress;
    experiment.measure({o.warmup, o.repeats, static_cast<std::uint64_t>(o.seed)},
                       [&](Index done, Index all) {
                         if (!progress && watch.elapsed().wall_ns > kSilentNs)
                           progress.emplace(session, all, "runs");
                         if (progress) progress->update(done);
                       });
    progress.reset();
    experiment.add_yardsticks(static_cast<int>(o.threads));
    for (const auto& doubt : doubts_after(experiment, machine)) session.warn(doubt);
  }
  if (!o.output.empty()) write_file(o, session, experiment, timed, context, history);
  session.report().write(report_text(o, experiment, timed, context));
  return experiment.agreement().counts && experiment.agreement().outputs ? cli::kDone : cli::kNo;
}

const cli::Program kProgram = {
    .name = "kvcache-bench",
    .summary = "decode with and without a key-value cache: rows counted, outputs compared, timed",
    .usage = "[OPTIONS]",
    .examples =
        {{"kvcache-bench --preset tutorial", "512 and 131,328 key rows, and what they cost"},
         {"kvcache-bench --dim 512 --heads 8 --kv-heads 8,2,1 --tokens 64-512*2 -o bench.h5",
          "fewer key-value heads, several lengths, all samples in a file"},
         {"kvcache-bench -i model.h5 --prompt 4 --new-tokens 8 --format md",
          "a trained model; prompt and generated tokens apart"},
         {"kvcache-bench --dim 8 --heads 1 --tokens 1-64 --counts-only --format tsv",
          "counts alone: the same bytes everywhere"}},
    .notes =
        "Key rows are counted by the layers themselves, per sequence and key projection:\n"
        "  n given tokens           n with the cache      n(n+1)/2 without\n"
        "  a prompt of P, N new     P+N-1                 NP + N(N-1)/2\n"
        "The first new token comes out of the prompt's pass; the last is never fed back.\n"
        "  prefill  the prompt, or all n tokens, in one pass\n"
        "  decode   token after token; total is both, its tok/s counting the new tokens\n"
        "Times are medians of interleaved rounds; iqr is the width of their middle half, cpu\n"
        "the time of all threads together. read GB/s counts the cache and the matrices, which\n"
        "every step of cached decoding reads whole; of sweep compares it with reading a buffer\n"
        "of that size again and again on as many threads.",
    .meaning_of_no = "a count differs from its formula, or outputs differ",
};

}  // namespace

int main(int argc, char** argv) {
  return cli::tool_main<Options>(kProgram, argc, argv, declare, run);
}
