#include "attn-check/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "attn-check/errors.h"
#include "attn-check/nearness.h"
#include "attn-check/verdict_report.h"
#include "check/verdict/rules_text.h"
#include "cli/json.h"
#include "cli/picture.h"
#include "cli/table.h"
#include "core/text.h"

namespace attn {
namespace {

using cli::Format;
using cli::Json;
using cli::Table;

std::string number_text(double number) {
  return std::isnan(number) ? "nan" : fmt::format("{:.3f}", number);
}

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
      row.push_back(hidden(i, j) ? "." : number_text(matrix(i, j)));
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

void print_example_steps(const AttentionExample& example, const ExampleRun& run, bool random,
                         cli::Report& report) {
  const AttentionProblem& problem = example.problem;
  report.print("{} {} of {} features; {}\n{}\n", problem.q_len(),
               problem.q_len() == 1 ? "token" : "tokens", problem.head_dim(),
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

// Is there a mistake that gives just this?
bool is_explained(const Verdict& verdict) {
  return std::any_of(verdict.diagnosis.begin(), verdict.diagnosis.end(), [](const Diagnosis& one) {
    return one.kind == DiagnosisKind::kMistake || one.kind == DiagnosisKind::kTogether;
  });
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

}  // namespace

void print_case(const std::string& name, const AttentionCase& recorded,
                const AttentionReport& found, const ReportStyle& style, cli::Session& session) {
  const AttentionProblem& problem = recorded.problem;
  cli::Report& report = session.report();
  if (style.format == Format::kJson) {
    Json document = verdict_json(found.verdict);
    if (!found.errors.empty()) document["errors"] = errors_json(found.errors);
    document["remarks"] = found.remarks;
    document["kernel"] = checks_json(found.kernel);
    if (style.houses != nullptr) add_houses(*style.houses, document);
    report.write(cli::json_text(document));
    return;
  }
  if (style.format == Format::kTsv) {
    report.write(verdict_table(found.verdict).tsv());
    return;
  }
  if (style.steps) print_steps(problem, found.fast, report);
  report.print("{}\n", name);
  report.print("  q {}  k {}  v {}  (batch, heads, rows, features)\n", shape_text(problem.q.shape),
               shape_text(problem.k.shape), shape_text(problem.v.shape));
  report.print("  {}\n", rules_text(problem));
  for (const std::string& remark : found.remarks) report.print("  {}\n", remark);
  report.print("\nwhat was recorded, against the float64 reference\n{}",
               verdict_table(found.verdict).text());
  print_metrics(found.verdict, report);
  if (style.houses != nullptr) print_houses(*style.houses, report);
  report.print("\nthis program's own float32 kernel on the same inputs\n{}",
               verdict_table(found.kernel).text());
  report.print("\nverdict: {}\n", verdict_word(found.verdict.outcome()));
  print_diagnosis(found.verdict.diagnosis, report);
  if (!is_explained(found.verdict)) print_errors(found.errors, report);
  if (style.show) {
    report.print("\nweights\n{}", maps_picture(problem, found.fast.weights, session.terminal()));
  }
}

void print_example(const AttentionExample& example, const ExampleRun& run, bool random,
                   const ReportStyle& style, cli::Session& session) {
  cli::Report& report = session.report();
  if (style.format == Format::kJson) {
    Json document = verdict_json(run.verdict);
    document["scores"] = matrix_json(*run.open.scores);
    document["weights"] = matrix_json(*run.open.weights);
    document["out"] = matrix_json(*run.open.out);
    document["weights_causal"] = matrix_json(*run.causal.weights);
    report.write(cli::json_text(document));
    return;
  }
  if (style.format == Format::kTsv) {
    report.write(verdict_table(run.verdict).tsv());
    return;
  }
  if (style.steps) print_example_steps(example, run, random, report);
  if (style.show) {
    report.print("weights\n{}\nweights under a causal mask\n{}\n",
                 maps_picture(run.open.problem, *run.open.weights, session.terminal()),
                 maps_picture(run.causal.problem, *run.causal.weights, session.terminal()));
  }
  print_laws(run, report);
  report.print("verdict: {}\n", verdict_word(run.verdict.outcome()));
}

}  // namespace attn
