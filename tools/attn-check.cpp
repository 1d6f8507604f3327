// attn-check: does a recorded attention obey the definition and the laws of attention?
//   attn-check                                   three tokens, step by step
//   attn-check -i case.h5                        check a file of q, k, v and out
//   attn-check --q '1 0; 0 1; 1 1' --causal      numbers typed by hand
//   attn-check --tokens 6 -o - | tensor-show -i - --dataset /weights_causal --slice 0,0 --show

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "check/case_arguments.h"
#include "check/case_output.h"
#include "check/check_attention.h"
#include "check/example.h"
#include "cli/common_options.h"
#include "cli/json.h"
#include "cli/picture.h"
#include "cli/table.h"
#include "cli/tool.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/text.h"
#include "io/output.h"
#include "io/provenance.h"

namespace {

using namespace attn;
using cli::Format;
using cli::Json;
using cli::Table;

struct Options {
  std::string input;
  std::string output;
  std::optional<Index> tokens;
  Index seed = 0;
  CaseNames names;
  CaseAttributes attributes;
  bool maps = false;
  Format format = Format::kText;
  bool show = false;
  Index threads = available_threads();
  Index max_bytes = cli::kDefaultMaxBytes;
};

const std::vector<std::string> kRuleOptions = {
    "causal",  "no-causal",   "causal-alignment", "causal-offset", "scale",
    "softcap", "window-left", "window-right",     "window-size",   "layout",
    "dtype",   "mask-type",   "fully-masked",     "scores-stage",  "maps"};

std::string dashed(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

// Options beside an input that is not there would be ignored, and two ways of saying one thing
// would depend on their order.
void check_combinations(const cli::OptionTable& table, const Options& o) {
  const auto refuse = [&](const std::string& name, const char* why) {
    if (table.given(name)) throw UsageError(fmt::format("--{} {}", name, why));
  };
  if (o.input.empty() && o.names.empty()) {
    for (const std::string& name : kRuleOptions) refuse(name, "needs --input or --q");
  } else {
    refuse("tokens", "makes its own tokens: it does not go with other inputs");
  }
  if (!o.tokens) refuse("seed", "needs --tokens");
  if (o.show && o.format != Format::kText) {
    throw UsageError("--show draws a picture; it goes with --format text only");
  }
  if (table.given("causal")) refuse("no-causal", "contradicts --causal");
  if (table.given("window-left")) refuse("window-size", "is --window-left plus 1: give one");
  if (table.given("causal-offset")) refuse("causal-alignment", "and --causal-offset: give one");
}

void declare_rules(cli::OptionTable& table, CaseAttributes& rules) {
  table.group("Rules, each wins over the file's attribute");
  table.action(
      "causal", [&rules] { rules.causal = true; }, "a query sees no later key");
  table.action(
      "no-causal", [&rules] { rules.causal = false; }, "a query sees later keys too");
  table.choice(
      "causal-alignment", rules.causal_alignment,
      std::vector<std::pair<std::string, CausalAlignment>>{
          {"top-left", CausalAlignment::kTopLeft}, {"bottom-right", CausalAlignment::kBottomRight}},
      "first query at the first key, or last query at the last");
  constexpr Index kMost = Index{1} << 31;
  table.count("causal-offset", rules.causal_offset, "key that the first query stands at")
      .at_least(-kMost)
      .at_most(kMost);
  table.real("scale", rules.scale, "factor on q.k").default_is("1/sqrt(head_dim)");
  table.real("softcap", rules.softcap, "cap*tanh(score/cap), 0 for none").at_least(0.0);
  table.count("window-left", rules.window_left, "keys before the query's own, -1 for all")
      .at_least(-1)
      .at_most(kMost);
  table.count("window-right", rules.window_right, "keys after it, -1 for all")
      .at_least(-1)
      .at_most(kMost);
  table.custom(
      "window-size", "N",
      [&rules](std::string_view text) {
        rules.window_left = cli::parse_count(text, "--window-size", {1, kMost}) - 1;
      },
      "keys seen with the query's own: --window-left N-1");
  table.custom(
      "layout", "ORDER",
      [&rules](std::string_view text) {
        rules.layout = parse_layout(text);
        if (!rules.layout) {
          throw UsageError(fmt::format("--layout: want bhsd or bshd, got '{}'", escaped(text)));
        }
      },
      "axes of q, k, v, out: bhsd (batch, heads, rows, features) or bshd");
  table.custom(
      "dtype", "TYPE",
      [&rules](std::string_view text) {
        rules.dtype = parse_checked_dtype(text);
        if (!rules.dtype) {
          throw UsageError(
              fmt::format("--dtype: want f64, f32, f16 or bf16, got '{}'", escaped(text)));
        }
      },
      "arithmetic of what is checked: f64, f32, f16, bf16");
  table.choice("mask-type", rules.mask_type,
               std::vector<std::pair<std::string, MaskType>>{{"bool", MaskType::kBool},
                                                             {"additive", MaskType::kAdditive}},
               "1 may attend, or a number added to the score");
  table.choice("fully-masked", rules.fully_masked,
               std::vector<std::pair<std::string, FullyMasked>>{{"zero", FullyMasked::kZero},
                                                                {"nan", FullyMasked::kNan}},
               "what a row that sees nothing gives");
  table.choice(
      "scores-stage", rules.scores_stage,
      std::vector<std::pair<std::string, ScoreStage>>{{"masked", ScoreStage::kMasked},
                                                      {"raw", ScoreStage::kRaw},
                                                      {"softcapped", ScoreStage::kSoftcapped}},
      "how far the file's scores have come");
}

void declare_names(cli::OptionTable& table, CaseNames& names) {
  table.group("Datasets under other names; without input: numbers, a text file, FILE:/dataset");
  for (const std::string& name : case_datasets()) {
    table.custom(
        dashed(name), "PATH",
        [&names, name](std::string_view path) { names[name] = std::string(path); },
        fmt::format("instead of /{}", name));
  }
}

void declare(cli::OptionTable& table, Options& o) {
  table.group("Input and output");
  cli::input_option(table, o.input, "attention case in HDF5, - for stdin");
  cli::output_option(table, o.output, "HDF5 file for out and lse, - for stdout");
  table.flag("maps", o.maps, "weights and scores in the output and in the second opinion too");
  cli::max_bytes_option(table, o.max_bytes);
  table.group("Without input");
  table.count("tokens", o.tokens, "random tokens instead of the three").at_most(1024);
  cli::seed_option(table, o.seed);
  declare_rules(table, o.attributes);
  declare_names(table, o.names);
  table.group("Report");
  cli::format_options(table, o.format, {Format::kText, Format::kTsv, Format::kJson});
  cli::show_options(table, o.show, "draw the weights of each head");
  cli::threads_option(table, o.threads);
  table.check([&table, &o] { check_combinations(table, o); });
}

// ------------------------------------------------------------------------- words and numbers

std::string error_text(double error) {
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
      row.push_back(check.max_error > 0 ? shape_text(check.where) : "");
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
    if (!check.note.empty()) one["note"] = check.note;
    checks.push_back(std::move(one));
  }
  return checks;
}

Json verdict_json(const Verdict& verdict) {
  Json document;
  document["verdict"] = verdict_word(verdict.outcome());
  document["diagnosis"] = verdict.diagnosis;
  document["checks"] = checks_json(verdict);
  return document;
}

int exit_code(const Verdict& verdict) {
  return verdict.outcome() == Outcome::kFail ? cli::kNo : cli::kDone;
}

// ------------------------------------------------------------------------- pictures

std::string maps_picture(const AttentionProblem& problem, const Tensor<double>& weights,
                         const cli::Terminal& terminal) {
  constexpr Index kMostMaps = 64;
  const std::vector<float> values(weights.values.begin(), weights.values.end());
  const Index rows = problem.q_len();
  const Index keys = problem.kv_len();
  const Index all = problem.batch() * problem.heads();
  const Index shown = std::min(all, kMostMaps);
  std::vector<std::vector<std::uint8_t>> hidden(static_cast<std::size_t>(shown));
  std::vector<cli::HeatMap> maps;
  for (Index n = 0; n < shown; ++n) {
    const Index b = n / problem.heads();
    const Index h = n % problem.heads();
    std::vector<std::uint8_t>& dots = hidden[static_cast<std::size_t>(n)];
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < keys; ++j) dots.push_back(may_see(problem, b, h, i, j) ? 0 : 1);
    }
    cli::HeatMap map;
    map.title = problem.batch() == 1 ? fmt::format("head {}", h)
                                     : fmt::format("sequence {}, head {}", b, h);
    map.values = {values.data() + n * rows * keys, rows, keys};
    map.hidden = {dots.data(), rows, keys};
    map.rows_are = "query";
    map.cols_are = "key";
    maps.push_back(std::move(map));
  }
  std::string text =
      maps.size() == 1 ? cli::heat_map(maps.front(), terminal) : cli::heat_maps(maps, terminal);
  if (shown < all) text += fmt::format("the first {} of {} maps\n", shown, all);
  return text;
}

// ------------------------------------------------------------------------- steps

std::vector<std::string> numbered(const char* word, Index count) {
  std::vector<std::string> names;
  for (Index n = 1; n <= count; ++n) names.push_back(fmt::format("{}{}", word, n));
  return names;
}

// Three digits, as the tutorial prints them; a dot where hidden(row, column).
template <class Hidden>
std::string matrix_text(const Tensor<double>& values, const std::vector<std::string>& columns,
                        const Hidden& hidden) {
  std::vector<Table::Column> heads = {{"", Table::Align::kLeft}};
  for (const std::string& column : columns) heads.push_back({column});
  Table table(std::move(heads));
  const Matrix<const double> matrix = values.matrix();
  for (Index i = 0; i < matrix.rows(); ++i) {
    std::vector<std::string> row = {fmt::format("  x{}", i + 1)};
    for (Index j = 0; j < matrix.cols(); ++j) {
      row.push_back(hidden(i, j) ? "." : fmt::format("{:.3f}", matrix(i, j)));
    }
    table.add(std::move(row));
  }
  return table.text();
}

std::string rows_text(const Tensor<double>& rows) {
  return matrix_text(rows, numbered("f", rows.dim(-1)), [](Index, Index) { return false; });
}

// A map of the only head.
std::string map_text(const AttentionProblem& problem, const Tensor<double>& map) {
  return matrix_text(map, numbered("x", problem.kv_len()),
                     [&](Index i, Index j) { return !may_see(problem, 0, 0, i, j); });
}

// More columns of three digits are no longer read.
constexpr Index kMostPrinted = 12;

// Scores, weights and outputs of one head.
void print_steps(const AttentionProblem& problem, const AttentionAnswer& answer,
                 cli::Report& report) {
  const std::string scale = problem.rules.scale ? fmt::format("* {:.4g}", *problem.rules.scale)
                                                : fmt::format("/ sqrt({})", problem.head_dim());
  report.print("1. scores = q k^T {}: how relevant token j (column) is to token i\n{}\n", scale,
               map_text(problem, answer.scores));
  report.print("2. weights = softmax of each row\n{}\n", map_text(problem, answer.weights));
  report.print("3. outputs = weights times values: each token becomes an average of values\n{}\n",
               rows_text(answer.out));
}

// ------------------------------------------------------------------------- a recorded case

std::string rules_text(const AttentionProblem& problem) {
  const AttentionRules& rules = problem.rules;
  std::vector<std::string> words = {std::string(dtype_name(rules.dtype)),
                                    fmt::format("scale {:.4g}", problem.scale())};
  if (rules.causal) words.emplace_back("causal");
  if (rules.causal_offset) {
    words.push_back(fmt::format("offset {}", *rules.causal_offset));
  } else if (rules.causal_alignment == CausalAlignment::kBottomRight) {
    words.emplace_back("bottom-right");
  }
  if (rules.window_left >= 0) words.push_back(fmt::format("window left {}", rules.window_left));
  if (rules.window_right >= 0) words.push_back(fmt::format("window right {}", rules.window_right));
  if (rules.softcap > 0) words.push_back(fmt::format("softcap {:.4g}", rules.softcap));
  if (problem.mask) {
    words.emplace_back(rules.mask_type == MaskType::kBool ? "boolean mask" : "additive mask");
  }
  if (!problem.kv_lens.empty()) words.emplace_back("kv_lens");
  if (!problem.cu_seqlens_q.empty()) {
    words.push_back(fmt::format("{} packed sequences", problem.cu_seqlens_q.size() - 1));
  }
  if (!problem.alibi_slopes.empty()) words.emplace_back("alibi");
  if (!problem.sinks.empty()) words.emplace_back("sinks");
  return fmt::format("{}", fmt::join(words, ", "));
}

void print_case(const std::string& name, const AttentionCase& recorded,
                const AttentionReport& found, Format format, cli::Report& report) {
  const AttentionProblem& problem = recorded.problem;
  if (format == Format::kJson) {
    Json document = verdict_json(found.verdict);
    document["remarks"] = found.remarks;
    document["kernel"] = checks_json(found.kernel);
    report.write(cli::json_text(document));
    return;
  }
  if (format == Format::kTsv) {
    report.write(verdict_table(found.verdict).tsv());
    return;
  }
  report.print("{}\n", name);
  report.print("  q {}  k {}  v {}  (batch, heads, rows, features)\n", shape_text(problem.q.shape),
               shape_text(problem.k.shape), shape_text(problem.v.shape));
  report.print("  {}\n", rules_text(problem));
  for (const std::string& remark : found.remarks) report.print("  {}\n", remark);
  report.print("\nwhat was recorded, against the float64 reference\n{}",
               verdict_table(found.verdict).text());
  report.print("\nthis program's own float32 kernel on the same inputs\n{}",
               verdict_table(found.kernel).text());
  report.print("\nverdict: {}\n", verdict_word(found.verdict.outcome()));
  if (!found.verdict.diagnosis.empty()) {
    report.print("diagnosis: {}\n", fmt::join(found.verdict.diagnosis, ", "));
  }
}

// What a file holds, or what the options themselves hold.
struct Subject {
  std::string name;
  std::string history;
  AttentionCase recorded;
  CaseAttributes attributes;
};

Subject read_subject(const Options& o) {
  const ReadLimits limits{.max_bytes = o.max_bytes};
  if (o.input.empty()) {
    return {"numbers", "", case_from_arguments(o.names, o.attributes, limits), o.attributes};
  }
  const Hdf5Reader reader = Hdf5Reader::open(o.input, limits);
  const CaseAttributes attributes = merged(o.attributes, read_case_attributes(reader));
  return {reader.name(), read_history(reader), read_case(reader, attributes, o.names), attributes};
}

// Maps grow with q_len * kv_len, whatever the size of the file.
void check_memory(const AttentionProblem& problem, Index max_bytes) {
  // Weights and scores in float64, of the reference, the kernel and one honest answer at a time.
  constexpr Index kBytesPerWeight = 6 * 8;
  const Index extents[] = {problem.batch(), problem.heads(), problem.q_len(), problem.kv_len(),
                           kBytesPerWeight};
  const auto bytes = checked_product(extents);
  if (bytes && *bytes <= max_bytes) return;
  throw DataError(fmt::format("the maps need {}, more than --max-bytes {}",
                              bytes ? short_size_text(*bytes) : "more than can be counted",
                              short_size_text(max_bytes)),
                  {"without --maps and --show only out and lse are computed"});
}

int run_case(const Options& o, cli::Session& session) {
  if (!o.output.empty()) check_output(o.output, {o.input});
  const Subject subject = read_subject(o);
  const AttentionProblem& problem = subject.recorded.problem;
  const bool small = o.input.empty() && problem.batch() * problem.heads() == 1 &&
                     std::max(problem.q_len(), problem.kv_len()) <= kMostPrinted;
  CheckSettings settings;
  settings.maps = o.maps || o.show || small;
  settings.threads = static_cast<int>(o.threads);
  if (settings.maps) check_memory(problem, o.max_bytes);
  const AttentionReport found = check_attention(subject.recorded, settings);
  if (!o.output.empty()) {
    Provenance provenance;
    provenance.command = session.history();
    provenance.earlier_history = subject.history;
    Hdf5Writer writer;
    add_answers(writer, found, o.maps, subject.attributes.layout.value_or(TensorLayout::kBhsd));
    write_provenance(writer, provenance);
    write_output(o.output, writer.finish());
  }
  cli::Report& report = session.report();
  if (!report.wanted()) return exit_code(found.verdict);
  if (small && o.format == Format::kText) print_steps(problem, found.fast, report);
  print_case(subject.name, subject.recorded, found, o.format, report);
  if (o.show) {
    report.print("\nweights\n{}", maps_picture(problem, found.fast.weights, session.terminal()));
  }
  return exit_code(found.verdict);
}

// ------------------------------------------------------------------------- the example

void print_example_steps(const AttentionExample& example, const ExampleRun& run, bool random,
                         cli::Report& report) {
  const AttentionProblem& problem = example.problem;
  report.print("{} tokens of {} features; {}\n{}\n", problem.q_len(), problem.head_dim(),
               random ? "q = x Wq, k = x Wk, v = x Wv with random projections"
                      : "Wq = Wk = Wv = identity, so q = k = v = x",
               rows_text(example.x));
  print_steps(problem, {*run.open.out, {}, *run.open.weights, *run.open.scores}, report);
  report.print("With a causal mask token i sees tokens up to itself; hidden weights are 0\n{}\n",
               map_text(run.causal.problem, *run.causal.weights));
}

void print_laws(const ExampleRun& run, cli::Report& report) {
  const auto line = [&](const char* words, const Verdict& verdict, const char* name) {
    for (const Check& check : verdict.checks) {
      if (check.name != name) continue;
      report.print("  {:<40}{:<5} error {}, limit {}\n", words, outcome_name(check.outcome),
                   error_text(check.max_error), error_text(check.limit));
    }
  };
  report.print("checks\n");
  line("rows sum to 1", run.verdict, "rows-sum-to-1");
  line("permuting inputs permutes outputs", run.verdict, "permutation");
  line("causal: nothing attends to the future", run.verdict, "future-weights-zero");
  line("outputs equal the float64 reference", run.verdict, "out");
  line("causal: so do these", run.verdict, "causal-out");
}

Json matrix_json(const Tensor<double>& tensor) {
  Json rows = Json::array();
  const Matrix<const double> matrix = tensor.matrix();
  for (Index i = 0; i < matrix.rows(); ++i) {
    Json row = Json::array();
    for (Index j = 0; j < matrix.cols(); ++j) {
      row.push_back(cli::json_number(static_cast<float>(matrix(i, j))));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

void print_example(const Options& o, const AttentionExample& example, const ExampleRun& run,
                   cli::Session& session) {
  cli::Report& report = session.report();
  if (o.format == Format::kJson) {
    Json document = verdict_json(run.verdict);
    document["scores"] = matrix_json(*run.open.scores);
    document["weights"] = matrix_json(*run.open.weights);
    document["out"] = matrix_json(*run.open.out);
    document["weights_causal"] = matrix_json(*run.causal.weights);
    report.write(cli::json_text(document));
    return;
  }
  if (o.format == Format::kTsv) {
    report.write(verdict_table(run.verdict).tsv());
    return;
  }
  if (example.problem.q_len() <= kMostPrinted) {
    print_example_steps(example, run, o.tokens.has_value(), report);
  }
  if (o.show) {
    report.print("weights\n{}\nweights under a causal mask\n{}\n",
                 maps_picture(run.open.problem, *run.open.weights, session.terminal()),
                 maps_picture(run.causal.problem, *run.causal.weights, session.terminal()));
  }
  print_laws(run, report);
  report.print("verdict: {}\n", verdict_word(run.verdict.outcome()));
}

int run_example(const Options& o, cli::Session& session) {
  if (!o.output.empty()) check_output(o.output);
  const AttentionExample example =
      o.tokens ? random_example(*o.tokens, static_cast<std::uint64_t>(o.seed))
               : three_token_example();
  const ExampleRun run = check_example(example);
  if (!o.output.empty()) {
    Provenance provenance;
    provenance.command = session.history();
    if (o.tokens) provenance.seed = o.seed;
    Hdf5Writer writer;
    add_example(writer, example, run);
    write_provenance(writer, provenance);
    write_output(o.output, writer.finish());
  }
  if (session.report().wanted()) print_example(o, example, run, session);
  return exit_code(run.verdict);
}

int run(const Options& o, cli::Session& session) {
  const bool bare = o.input.empty() && o.names.empty();
  return bare ? run_example(o, session) : run_case(o, session);
}

const cli::Program kProgram = {
    .name = "attn-check",
    .summary = "does a recorded attention obey the definition and the laws of attention?",
    .usage = "[OPTIONS] [FILE]",
    .examples = {{"attn-check", "three tokens, step by step, with three checks"},
                 {"attn-check --tokens 6 --show", "two maps of six tokens, open and causal"},
                 {"attn-check -i case.h5", "the verdict on a file of q, k, v, out ..."},
                 {"attn-check -i dump.h5 --q /layer0/query --causal --json",
                  "names and rules as options"},
                 {"attn-check --q '1 0; 0 1' --v '5 5; 7 1'",
                  "numbers typed by hand: k is q unless given"},
                 {"attn-check -o - | tensor-show -i - --dataset /weights", "what was computed"}},
    .notes =
        "A case holds /q (batch, heads, rows, features), /k and /v with as many heads or fewer, "
        "and what\nwas made of them: /out, /weights, /scores, /lse, or some of these. Each is "
        "held to a float64\nreference; the limits follow the error that honest arithmetic of the "
        "type has on these inputs:\n  largest <= 2 * honest + F * largest |out|, mean <= 2 * "
        "honest + F/4 * mean |out|,\n  F = 1e-12 (f64), 1e-5 (f32), 2^-10 (f16), 2^-7 (bf16).\n"
        "A law whose data are absent is not checked; with nothing to compare the verdict is none.",
    .meaning_of_no = "a check failed",
    .bare_call_works = true,
};

}  // namespace

int main(int argc, char** argv) {
  return cli::tool_main<Options>(kProgram, argc, argv, declare, run);
}
