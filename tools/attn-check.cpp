// attn-check: does a recorded attention obey the definition and the laws of attention?
//   attn-check                                   three tokens, step by step
//   attn-check -i case.h5                        check a file of q, k, v and out
//   attn-check --q '1 0; 0 1; 1 1' --causal      numbers typed by hand
//   attn-check --tokens 6 -o - | tensor-show -i - --dataset /weights_causal --slice 0,0 --show

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn-check/report.h"
#include "check/case_arguments.h"
#include "check/case_output.h"
#include "check/check_attention.h"
#include "check/example.h"
#include "cli/common_options.h"
#include "cli/tool.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/text.h"
#include "io/output.h"
#include "io/provenance.h"

namespace {

using namespace attn;
using cli::Format;

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

int exit_code(const Verdict& verdict) {
  return verdict.outcome() == Outcome::kFail ? cli::kNo : cli::kDone;
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
  if (session.report().wanted()) {
    print_case(subject.name, subject.recorded, found, {o.format, small, o.show}, session);
  }
  return exit_code(found.verdict);
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
  if (session.report().wanted()) {
    const bool small = example.problem.q_len() <= kMostPrinted;
    print_example(example, run, o.tokens.has_value(), {o.format, small, o.show}, session);
  }
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
        "and what was made of them: /out, /weights, /scores, /lse, or some of these. Each is held "
        "to a float64 reference; the limits follow the error that honest arithmetic of the type "
        "has on these inputs:\n"
        "  largest <= 2 * honest + F * largest |out|\n"
        "  mean <= 2 * honest + F/4 * mean |out|\n"
        "  F = 1e-12 (f64), 1e-5 (f32), 2^-10 (f16), 2^-7 (bf16)\n"
        "A law whose data are absent is not checked; with nothing to compare the verdict is none.",
    .meaning_of_no = "a check failed",
    .bare_call_works = true,
};

}  // namespace

int main(int argc, char** argv) {
  return cli::tool_main<Options>(kProgram, argc, argv, declare, run);
}
