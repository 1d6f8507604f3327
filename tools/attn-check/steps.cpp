#include "attn-check/steps.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "attn-check/check.h"
#include "attn-check/matrix_text.h"
#include "attn-check/selection.h"
#include "attn-check/subject.h"
#include "check/example.h"
#include "check/head_rows.h"
#include "check/verdict/rules_text.h"
#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/table.h"
#include "core/counted.h"
#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

using cli::Format;
using cli::Json;
using cli::Table;

// One step's matrix, with what is said of it.
struct Step {
  const char* name;
  std::string words;
  const Tensor<double>* matrix;
  const Tensor<double>* shown;  // the same for people: minus infinity where hidden
  Shape whole;                  // of the step in all heads
  MatrixText style;
};

std::string scale_words(const AttentionProblem& problem) {
  if (!problem.rules.scale) {
    return fmt::format("times 1/sqrt({}) = {:.4g}", problem.head_dim(), problem.scale());
  }
  return fmt::format("times {:.4g}", problem.scale());
}

std::string mask_words(const AttentionProblem& problem) {
  std::string words;
  const auto add = [&words](const std::string& word) {
    if (!words.empty()) words += ", ";
    words += word;
  };
  if (problem.rules.causal) add("causal");
  if (problem.rules.window_left >= 0 || problem.rules.window_right >= 0) add("window");
  if (problem.mask) {
    add(problem.rules.mask_type == MaskType::kBool ? "boolean mask" : "additive mask");
  }
  if (!problem.kv_lens.empty()) add("lengths");
  if (!problem.cu_seqlens_q.empty()) add("packed sequences");
  if (!problem.alibi_slopes.empty()) add("ALiBi");
  return words.empty() ? "nothing is hidden" : words + "; a dot is hidden";
}

// q, k and v of one head as matrices, and its steps.
class HeadPrinter {
 public:
  HeadPrinter(const AttentionProblem& whole, const HeadSteps& steps, Index first_row)
      : whole_(whole), steps_(steps), first_row_(first_row) {
    q_ = as_matrix(steps.problem.q);
    k_ = as_matrix(steps.problem.k);
    v_ = as_matrix(steps.problem.v);
    shown_weights_ = steps.weights;
    for (std::size_t n = 0; n < shown_weights_.values.size(); ++n) {
      const double score = steps.masked.values[n];
      if (std::isinf(score) && score < 0) shown_weights_.values[n] = score;
    }
  }

  std::vector<Step> list() const {
    const Shape map = {whole_.batch(), whole_.heads(), whole_.q_len(), whole_.kv_len()};
    const Shape out = {whole_.batch(), whole_.heads(), whole_.q_len(), whole_.value_dim()};
    const MatrixText scores{"q", "k", first_row_, true};
    std::vector<Step> steps = {
        {"q",
         "queries: what each token looks for",
         &q_,
         &q_,
         whole_.q.shape,
         {"q", "f", first_row_}},
        {"k", "keys: what each token offers to be found by", &k_, &k_, whole_.k.shape, {"k", "f"}},
        {"v", "values: what it passes on", &v_, &v_, whole_.v.shape, {"v", "f"}},
        {"score", "q k^T: how well query and key agree", &steps_.products, &steps_.products, map,
         scores},
        {"scale", scale_words(whole_), &steps_.scaled, &steps_.scaled, map, scores}};
    if (steps_.capped.rank() != 0) {
      steps.push_back({"softcap", fmt::format("{0:.4g} tanh(s / {0:.4g})", whole_.rules.softcap),
                       &steps_.capped, &steps_.capped, map, scores});
    }
    steps.push_back({"mask", mask_words(whole_), &steps_.masked, &steps_.masked, map, scores});
    steps.push_back({"softmax",
                     whole_.sinks.empty() ? "of each row, which then sums to 1"
                                          : "of each row, the sink taking its share",
                     &steps_.weights,
                     &shown_weights_,
                     map,
                     {"q", "k", first_row_, true}});
    steps.push_back({"mix",
                     "weights times values: an average of those that are seen",
                     &steps_.out,
                     &steps_.out,
                     out,
                     {"q", "f", first_row_}});
    return steps;
  }

 private:
  static Tensor<double> as_matrix(Tensor<double> tensor) {
    tensor.shape = {tensor.dim(2), tensor.dim(3)};
    return tensor;
  }

  const AttentionProblem& whole_;
  const HeadSteps& steps_;
  const Index first_row_;
  Tensor<double> q_, k_, v_, shown_weights_;
};

// Sum and entropy beside each row of weights.
std::string entropy_text(const HeadSteps& steps, Index first_row) {
  Table table({{"", Table::Align::kLeft}, {"sum"}, {"largest"}, {"entropy"}, {"even would be"}});
  const Index keys = steps.weights.dim(1);
  const Index rows = steps.weights.dim(0);
  const Index shown = rows <= kMostWhole ? rows : kShownOfMore;
  for (Index i = 0; i < shown; ++i) {
    const double* row = steps.weights.data() + i * keys;
    const double* scores = steps.masked.data() + i * keys;
    double sum = 0;
    double largest = 0;
    for (Index j = 0; j < keys; ++j) {
      sum += row[j];
      largest = std::max(largest, row[j]);
    }
    const auto seen =
        std::count_if(scores, scores + keys, [](double score) { return !std::isinf(score); });
    table.add({fmt::format("  q{}", first_row + i), three_digits(sum), three_digits(largest),
               three_digits(steps.entropy[static_cast<std::size_t>(i)]),
               seen > 0 ? three_digits(std::log(static_cast<double>(seen))) : "."});
  }
  return table.text();
}

void print_projection(const CheckSubject& subject, cli::Report& report) {
  const AttentionProblem& problem = subject.recorded.problem;
  if (!subject.tokens) {
    report.print("1. project  q, k and v are given: nothing to do\n");
    return;
  }
  const TokenProjection& tokens = *subject.tokens;
  const auto words = [](const char* name, const std::optional<Tensor<double>>& weight,
                        const char* from) {
    return weight ? fmt::format("{} = {} W_{}^T", name, from, name)
                  : fmt::format("{} = {}", name, from);
  };
  const char* from = tokens.context ? "context" : "x";
  report.print("1. project  {}, {}, {}{}\n", words("q", tokens.q_proj, "x"),
               words("k", tokens.k_proj, from), words("v", tokens.v_proj, from),
               problem.heads() > 1 ? fmt::format("; cut into {} heads", problem.heads()) : "");
  Tensor<double> x = tokens.x;
  x.shape = {x.size() / std::max<Index>(x.dim(-1), 1), x.dim(-1)};
  report.print("   x {}\n{}", shape_text(tokens.x.shape), matrix_text(x, {"x", "f", 0, false}));
}

void print_head(const std::vector<Step>& steps, const HeadSteps& head, Index first_row,
                cli::Report& report) {
  int number = 1;
  for (const Step& step : steps) {
    const std::string name = step.name;
    const bool projected = name == "q" || name == "k" || name == "v";
    if (projected) {
      report.print("   {} {}  {}\n{}", name, shape_text(step.whole), step.words,
                   matrix_text(*step.shown, step.style));
      continue;
    }
    report.print("\n{}. {}  {}  {}\n{}", ++number, name, shape_text(step.whole), step.words,
                 matrix_text(*step.shown, step.style));
    if (name == "softmax") report.write(entropy_text(head, first_row));
  }
}

Json step_json(const Step& step, Index b, Index h) {
  Json entry;
  entry["sequence"] = b;
  entry["head"] = h;
  entry["step"] = step.name;
  entry["shape"] = step.whole;
  entry["first_row"] = step.style.first_row;
  Json rows = Json::array();
  const Matrix<const double> matrix = step.matrix->matrix();
  for (Index i = 0; i < matrix.rows(); ++i) {
    Json row = Json::array();
    for (Index j = 0; j < matrix.cols(); ++j) row.push_back(cli::json_number(matrix(i, j)));
    rows.push_back(std::move(row));
  }
  entry["values"] = std::move(rows);
  return entry;
}

void add_rows(const Step& step, Index b, Index h, Table& table) {
  const Matrix<const double> matrix = step.matrix->matrix();
  for (Index i = 0; i < matrix.rows(); ++i) {
    for (Index j = 0; j < matrix.cols(); ++j) {
      table.add({std::to_string(b), std::to_string(h), step.name,
                 std::to_string(step.style.first_row + i), std::to_string(j),
                 fmt::format("{}", matrix(i, j))});
    }
  }
}

bool anything_recorded(const AttentionCase& recorded) {
  return recorded.out || recorded.weights || recorded.scores || recorded.lse;
}

// The tutorial's tokens, or random ones.
CheckSubject example_subject(const CheckOptions& o) {
  const AttentionExample example =
      o.tokens ? random_example(*o.tokens, static_cast<std::uint64_t>(o.seed))
               : three_token_example();
  CheckSubject subject;
  subject.name = o.tokens ? fmt::format("{} random tokens", *o.tokens) : "three tokens";
  subject.recorded.problem = example.problem;
  apply(o.attributes, subject.recorded);
  if (!o.tokens) {
    subject.tokens = TokenProjection{};
    subject.tokens->x = example.x;
  }
  return subject;
}

}  // namespace

int run_steps(const CheckOptions& o, cli::Session& session) {
  const bool bare = o.input.empty() && o.names.empty() && o.projection.empty();
  const CheckSubject subject = bare ? example_subject(o) : read_subject(o, Values::kOptional);
  const AttentionProblem& problem = subject.recorded.problem;
  const Selection chosen = select(problem, o, 1);
  cli::Report& report = session.report();
  Json all = Json::array();
  Table table(
      {{"sequence"}, {"head"}, {"step", Table::Align::kLeft}, {"row"}, {"column"}, {"value"}});
  if (o.format == Format::kText) {
    report.print("{}\n  {}\n", subject.name, rules_text(problem));
    print_projection(subject, report);
  }
  for (Index head : chosen.heads) {
    const HeadSteps steps = head_steps(problem, 0, head, chosen.first_row(), chosen.row_run(),
                                       static_cast<int>(o.threads));
    const HeadPrinter printer(problem, steps, chosen.first_row());
    const std::vector<Step> list = printer.list();
    if (o.format == Format::kText) {
      if (problem.heads() * problem.batch() > 1) {
        report.print("\nsequence 0 of {}, head {} of {}\n", problem.batch(), head, problem.heads());
      }
      print_head(list, steps, chosen.first_row(), report);
      continue;
    }
    for (const Step& step : list) {
      if (o.format == Format::kJson) {
        all.push_back(step_json(step, 0, head));
      } else {
        add_rows(step, 0, head, table);
      }
    }
  }
  session.did(fmt::format("computed {} of {} step by step",
                          counted(std::ssize(chosen.heads), "head"), subject.name));
  if (o.format == Format::kTsv) report.write(table.tsv());
  const bool judge = anything_recorded(subject.recorded);
  if (o.format == Format::kJson) {
    Json document;
    document["steps"] = std::move(all);
    report.write(cli::json_text(document));
    return cli::kDone;
  }
  if (!judge || o.format != Format::kText) return cli::kDone;
  report.write("\n");
  return check_subject(subject, o, false, session);
}

}  // namespace attn
