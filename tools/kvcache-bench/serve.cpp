#include "kvcache-bench/serve.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/doubts.h"
#include "bench/model_subject.h"
#include "bench/stopwatch.h"
#include "cli/exit_code.h"
#include "core/error.h"
#include "core/memory.h"
#include "io/hdf5_reader.h"
#include "io/output.h"
#include "io/provenance.h"
#include "kvcache-bench/context.h"
#include "kvcache-bench/rounds.h"
#include "kvcache-bench/serve_report.h"
#include "lengths.h"
#include "model/checkpoint.h"

namespace attn {
namespace {

constexpr Index kUsualRequests = 64;
constexpr Index kUsualSequences = 8;  // that the memory holds at their longest

// What serves, before the lengths are known.
struct Served {
  std::unique_ptr<Transformer<float>> model;  // null: the layer
  std::string history;
  std::string headline;
  BenchContext context;
};

Served read_served(const BenchOptions& o) {
  Served served;
  BenchContext& context = served.context;
  if (o.input.empty()) {
    served.headline = fmt::format("one attention layer, width {}, {} query and {} kv heads of {}",
                                  o.layer.dim, o.layer.heads, o.kv_heads.front(), o.layer.head_dim);
    context.emplace_back("subject", std::string("layer"));
    context.emplace_back("layers", Index{1});
    context.emplace_back("heads", o.layer.heads);
    context.emplace_back("kv_heads", o.kv_heads.front());
    context.emplace_back("dim", o.layer.dim);
    context.emplace_back("head_dim", o.layer.head_dim);
    return served;
  }
  ReadLimits limits;
  limits.max_bytes = o.max_bytes;
  const Hdf5Reader reader = Hdf5Reader::open(o.input, limits);
  served.history = read_history(reader);
  const ModelConfig config = read_model_config(reader).completed();
  if (config.arch != Arch::kDecoder) {
    throw DataError(fmt::format("{}: only a decoder can decode, this is of arch {}", reader.name(),
                                enum_name(config.arch)));
  }
  served.model = read_model<float>(reader);
  served.headline = fmt::format("a model of {} layers, {} query and {} kv heads of {}",
                                config.depth, config.heads, config.kv_heads, config.head_dim);
  context.emplace_back("subject", std::string("model"));
  context.emplace_back("layers", config.depth);
  context.emplace_back("heads", config.heads);
  context.emplace_back("kv_heads", config.kv_heads);
  context.emplace_back("dim", config.dim);
  context.emplace_back("head_dim", config.head_dim);
  return served;
}

ServingLoad load_of(const BenchOptions& o, const Served& served) {
  const ServeOptions& s = o.serving;
  const Index count = s.requests.value_or(kUsualRequests);
  std::vector<Index> lengths;
  if (s.lengths.empty() && s.prompt && s.new_tokens) {
    const auto length = checked_add(*s.prompt, *s.new_tokens - 1);
    if (!length) throw UsageError("--prompt and --new-tokens together leave 63 bits");
    lengths.assign(static_cast<std::size_t>(count), *length);
  } else {
    // What is drawn ends where contiguous buffers do, or the model's positions.
    Index longest = std::numeric_limits<Index>::max();
    if (served.model) longest = served.model->config().longest_sequence().value_or(longest);
    if (s.max_length > 0) longest = s.max_length;
    lengths = asked_lengths(s.lengths.empty() ? "lognormal:500:0.8" : s.lengths, count, longest,
                            o.seed, o.max_bytes);
  }
  ServingLoadSettings settings;
  settings.prompt = s.prompt;
  settings.new_tokens = s.prompt ? std::nullopt : s.new_tokens;
  settings.shared_prefix = s.shared_prefix;
  settings.arrival_gap = s.arrival_gap;
  settings.longest = s.max_length;
  settings.seed = static_cast<std::uint64_t>(o.seed);
  return serving_load(lengths, settings);
}

// What the subject takes beside the cache of many.
double own_bytes(const BenchOptions& o, const Served& served, const ServingLoad& load) {
  const double ids = sizeof(Index) * static_cast<double>(load.rows());
  if (served.model) return ids + model_subject_bytes(served.model->config(), load.longest);
  LayerShape shape = o.layer;
  shape.kv_heads = o.kv_heads.front();
  return ids + layer_subject_bytes(shape, load.longest);
}

std::unique_ptr<ServingSubject> make_subject(const BenchOptions& o, Served& served,
                                             const ServingLoad& load) {
  const int threads = static_cast<int>(o.threads);
  if (served.model)
    return std::make_unique<ServedModel>(std::move(served.model), load.longest, threads);
  LayerShape shape = o.layer;
  shape.kv_heads = o.kv_heads.front();
  return std::make_unique<ServedLayer>(shape, threads, static_cast<std::uint64_t>(o.seed));
}

// What was asked for, else some sequences at their longest, and whole pages of one at least.
Index memory_of(const BenchOptions& o, const ServingLoad& load, Index row_bytes) {
  if (o.serving.memory) return *o.serving.memory;
  const auto rows = checked_mul(load.longest, std::min(kUsualSequences, load.count()));
  const auto paged = checked_add(load.longest, o.page_size - 1);
  if (rows && paged) {
    const auto bytes = checked_mul(std::max(*rows, *paged / o.page_size * o.page_size), row_bytes);
    if (bytes) return *bytes;
  }
  throw UsageError("the cache of so many tokens is larger than any memory");
}

std::vector<ServingSettings> ways_of(const BenchOptions& o, Index memory) {
  ServingSettings settings;
  settings.page_size = o.page_size;
  settings.memory_bytes = memory;
  settings.admission = o.serving.admission;
  std::vector<ServingSettings> ways;
  const auto add = [&](ServingWay way) {
    settings.way = way;
    ways.push_back(settings);
  };
  if (o.serving.contiguous) add(ServingWay::kContiguous);
  if (o.serving.paged) add(ServingWay::kPaged);
  if (o.serving.paged && o.serving.shared_prefix > 0) add(ServingWay::kShared);
  return ways;
}

}  // namespace

int run_serve(const BenchOptions& o, cli::Session& session) {
  if (!o.output.empty()) check_output(o.output, {o.input, o.serving.lengths});
  Served served = read_served(o);
  BenchContext context = served.context;
  const std::string headline = served.headline + ", f32";
  const std::string history = served.history;
  ServingLoad load = load_of(o, served);
  const double own = own_bytes(o, served, load);
  require_memory("serving", own);
  std::unique_ptr<ServingSubject> subject = make_subject(o, served, load);
  const Index memory = memory_of(o, load, subject->row_bytes());
  require_memory("serving", own + static_cast<double>(memory));
  context.emplace_back("dtype", std::string("f32"));
  context.emplace_back("requests", load.count());
  context.emplace_back("cached_rows", load.rows());
  context.emplace_back("new_tokens", load.new_tokens());
  context.emplace_back("max_length", load.longest);
  context.emplace_back("shared_prefix", load.shared_prefix);
  context.emplace_back("arrival_gap", o.serving.arrival_gap);
  context.emplace_back("memory_bytes", memory);
  context.emplace_back("row_bytes", subject->row_bytes());
  context.emplace_back(
      "admission",
      std::string(o.serving.admission == Admission::kPreempt ? "preempt" : "worst-case"));
  ServingExperiment experiment(std::move(subject), std::move(load), ways_of(o, memory),
                               static_cast<std::uint64_t>(o.seed));
  const Machine machine = this_machine();
  if (!o.counts_only) {
    add_machine(context, machine);
    context.emplace_back("threads", o.threads);
    note_context(session, o, machine);
    for (const auto& doubt : doubts_before(machine, build_type(), o.threads)) session.warn(doubt);
  }
  const Stopwatch watch;
  experiment.verify();
  const double round_seconds = static_cast<double>(watch.elapsed().wall_ns) * 1e-9;
  const bool agreed = experiment.agreement().counts && experiment.agreement().outputs;
  const bool timed = agreed && !o.counts_only;
  if (timed) {
    const Interleaving how = rounds_of(o, round_seconds, session);
    context.emplace_back("warmup", how.warmup);
    context.emplace_back("repeats", how.repeats);
    measure_with_progress(session, "runs",
                          [&](const auto& progress) { experiment.measure(how, progress); });
  }
  if (!o.output.empty()) {
    write_bench_file(o, session, history, [&](Hdf5Writer& writer) {
      write_serving(writer, context, serving_columns(experiment, timed), experiment);
    });
  }
  session.report().write(
      serve_report(experiment, context, {o.format, headline, memory, o.counts_only, timed}));
  return experiment.agreement().counts && experiment.agreement().outputs ? cli::kDone : cli::kNo;
}

}  // namespace attn
