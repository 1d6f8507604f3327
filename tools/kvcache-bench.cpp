// Decoding with and without a key-value cache: rows counted, outputs compared, times taken.
//
//   kvcache-bench --preset tutorial
//   kvcache-bench --kv-heads 8,2,1 --tokens 128-512*2 -o bench.h5
//   kvcache-bench -i model.h5 --prompt 64 --new-tokens 64 --format md
//   kvcache-bench --dim 8 --heads 1 --tokens 1-64 --counts-only --format tsv

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/bench_table.h"
#include "bench/cache_experiment.h"
#include "bench/doubts.h"
#include "bench/interleave.h"
#include "bench/layer_subject.h"
#include "bench/machine.h"
#include "bench/model_subject.h"
#include "bench/stopwatch.h"
#include "cli/common_options.h"
#include "cli/progress.h"
#include "cli/tool.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/text.h"
#include "io/output.h"
#include "io/provenance.h"
#include "kvcache-bench/report.h"
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
  Index page_size = kPageRows;
  std::vector<CacheKind> caches = {CacheKind::kContiguous, CacheKind::kNone};
  bool counts_only = false;
  std::optional<Index> repeats;
  std::optional<Index> warmup;
  Index seed = 0;
  Index threads = available_threads();
  Index max_bytes = cli::kDefaultMaxBytes;
  cli::Format format = cli::Format::kText;
};

// One way or several, with commas between.
std::vector<CacheKind> parse_caches(std::string_view text) {
  std::vector<CacheKind> caches;
  for (const std::string_view word : split(text, ',')) {
    constexpr CacheKind kKinds[] = {CacheKind::kContiguous, CacheKind::kPaged, CacheKind::kNone};
    const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                     [&](CacheKind one) { return cache_name(one) == word; });
    if (found == std::end(kKinds)) {
      throw UsageError("--cache wants contiguous, paged or none, or several: " + escaped(word));
    }
    const CacheKind kind = *found;
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
      "ways to compare: contiguous, paged, none (default contiguous,none)");
  table.count("page-size", o.page_size, "rows of a page of the paged cache");
  cli::seed_option(table, o.seed);
  table.group("How it is measured");
  table.flag("counts-only", o.counts_only, "count and compare, take no times");
  table.count("repeats", o.repeats, "timed rounds").default_is("7, fewer of long ones");
  table.count("warmup", o.warmup, "rounds before them, in full")
      .at_least(0)
      .default_is("3, fewer of long ones");
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
    require_memory("decoding", model_subject_bytes(config, capacity));
    subjects.push_back(std::make_unique<ModelSubject>(read_model<float>(reader), capacity, threads,
                                                      seed, o.page_size));
    return subjects;
  }
  double bytes = 0;
  LayerShape shape = o.layer;
  for (const Index kv_heads : o.kv_heads) {
    shape.kv_heads = kv_heads;
    bytes += layer_subject_bytes(shape, capacity);
  }
  require_memory("decoding", bytes);
  for (const Index kv_heads : o.kv_heads) {
    shape.kv_heads = kv_heads;
    subjects.push_back(std::make_unique<LayerSubject>(shape, capacity, threads, seed, o.page_size));
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

// What decodes, as the report's first line has it.
std::string headline(const Options& o, const CacheExperiment& experiment) {
  if (o.input.empty()) {
    return fmt::format("one attention layer, width {}, {} query heads of {}, f32", o.layer.dim,
                       o.layer.heads, o.layer.head_dim);
  }
  const DecodeSubject& subject = experiment.subject(experiment.rows().front());
  return fmt::format("a model of {} layers, {} query heads, f32", subject.layers(),
                     subject.heads());
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

// Rounds as asked for; where nobody asked, no more than patience allows.
Interleaving rounds_of(const Options& o, double round_seconds, const cli::Session& session) {
  constexpr double kPatience = 20;
  Interleaving how;
  how.seed = static_cast<std::uint64_t>(o.seed);
  if (!o.repeats && !o.warmup) {
    const Index usual = how.repeats;
    how = within_budget(how, round_seconds, kPatience);
    if (how.repeats < usual) {
      session.note(
          fmt::format("a round takes {:.1f} s: {} to warm up, {} timed (--warmup and "
                      "--repeats ask for more)",
                      round_seconds, how.warmup, how.repeats));
    }
  }
  how.warmup = o.warmup.value_or(how.warmup);
  how.repeats = o.repeats.value_or(how.repeats);
  return how;
}

void measure(const Options& o, const Interleaving& how, CacheExperiment& experiment,
             const cli::Session& session) {
  // What is over in a moment needs no word.
  constexpr std::int64_t kSilentNs = 2'000'000'000;
  const Stopwatch watch;
  std::optional<cli::Progress> progress;
  experiment.measure(how, [&](Index done, Index all) {
    if (!progress && watch.elapsed().wall_ns > kSilentNs) progress.emplace(session, all, "runs");
    if (progress) progress->update(done);
  });
  progress.reset();
  experiment.add_yardsticks(static_cast<int>(o.threads));
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
    note_context(session, o, machine);
    for (const auto& doubt : doubts_before(machine, build_type(), o.threads)) session.warn(doubt);
  }
  // It runs each way once, as a round does.
  const Stopwatch watch;
  experiment.verify();
  const double round_seconds = static_cast<double>(watch.elapsed().wall_ns) * 1e-9;
  // Times of what computes something else would be believed.
  const bool agreed = experiment.agreement().counts && experiment.agreement().outputs;
  const bool timed = agreed && !o.counts_only;
  const Interleaving how = timed ? rounds_of(o, round_seconds, session) : Interleaving{};
  if (!o.counts_only) {
    context.emplace_back("warmup", timed ? how.warmup : 0);
    context.emplace_back("repeats", timed ? how.repeats : 0);
  }
  if (timed) {
    measure(o, how, experiment, session);
    for (const auto& doubt : doubts_after(experiment, machine)) session.warn(doubt);
  }
  if (!o.output.empty()) write_file(o, session, experiment, timed, context, history);
  session.report().write(
      bench_report(experiment, context,
                   {o.format, headline(o, experiment), o.prompt_apart, o.counts_only, timed}));
  return experiment.agreement().counts && experiment.agreement().outputs ? cli::kDone : cli::kNo;
}

const cli::Program kProgram = {
    .name = "kvcache-bench",
    .summary = "decode with and without a key-value cache: count, compare, time",
    .usage = "[OPTIONS]",
    .examples = {{"kvcache-bench --preset tutorial",
                  "512 and 131,328 key rows, and what they cost"},
                 {"kvcache-bench --kv-heads 8,2,1 --tokens 64-512*2 -o bench.h5",
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
