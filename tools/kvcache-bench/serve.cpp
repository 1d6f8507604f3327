#include "kvcache-bench/serve.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/doubts.h"
#include "bench/model_subject.h"
#include "bench/stopwatch.h"
#include "cli/exit_code.h"
#include "core/counted.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/text.h"
#include "io/hdf5_reader.h"
#include "io/output.h"
#include "io/provenance.h"
#include "kvcache-bench/context.h"
#include "kvcache-bench/rounds.h"
#include "kvcache-bench/serve_report.h"
#include "kvcache-bench/subjects.h"
#include "lengths.h"
#include "model/checkpoint.h"

namespace attn {
namespace {

constexpr Index kUsualRequests = 64;
constexpr Index kUsualSequences = 8;  // that the memory holds at their longest
constexpr Index kUsualPositions = 4096;

// What serves. Without arithmetic it is a layer of width 1, whose rows and pages are counted as any
// other's.
struct Served {
  std::unique_ptr<Transformer<float>> model;  // null: the layer, or without arithmetic
  std::optional<ModelConfig> config;          // of a model
  LayerShape layer;
  Index row_bytes = 0;  // of a row's keys and values
  std::string history;
  std::string headline;
  BenchContext context;
};

Index row_bytes_of(const ServeOptions& o, Index layers, Index kv_heads, Index head_dim) {
  // No type takes more than the model's own.
  const std::array<Index, 4> counts = {2 * Index{sizeof(float)}, layers, kv_heads, head_dim};
  if (!checked_product(counts)) throw UsageError("a row of the cache is larger than any memory");
  return layers * (kv_row_bytes<float>(o.types.keys, kv_heads, head_dim) +
                   kv_row_bytes<float>(o.types.values, kv_heads, head_dim));
}

// What a headline says of the cache, where it does not hold all that the model computes.
std::string cache_text(const BenchOptions& o) {
  const KvTypes& types = o.serving.types;
  std::string text = types.exact() ? "" : ", cached as " + types_name(types);
  if (o.window) text += fmt::format(", window of {}", grouped(*o.window));
  return text;
}

void describe(Served& served, const BenchOptions& o, const std::string& what, Index layers,
              Index heads, Index kv_heads, Index dim, Index head_dim) {
  served.row_bytes = row_bytes_of(o.serving, layers, kv_heads, head_dim);
  served.context = {{"subject", what}};
  if (!o.model.empty()) served.context.emplace_back("model", o.model);
  served.context.insert(served.context.end(),
                        {{"tensors", std::string(o.input.empty() ? "random" : "file")},
                         {"layers", layers},
                         {"heads", heads},
                         {"kv_heads", kv_heads},
                         {"dim", dim},
                         {"head_dim", head_dim},
                         {"dtype", std::string("f32")},
                         {"k_dtype", kv_type_name(o.serving.types.keys)},
                         {"v_dtype", kv_type_name(o.serving.types.values)},
                         {"window", o.window.value_or(0)},
                         {"seed", o.seed}});
}

Served layer_of(const BenchOptions& o) {
  Served served;
  served.layer = o.layer;
  served.layer.kv_heads = o.kv_heads.front();
  const LayerShape& shape = served.layer;
  describe(served, o, "layer", 1, shape.heads, shape.kv_heads, shape.dim, shape.head_dim);
  served.headline =
      fmt::format("one attention layer, width {}, {} query and {} kv heads of {}, f32{}", shape.dim,
                  shape.heads, shape.kv_heads, shape.head_dim, cache_text(o));
  return served;
}

void describe_model(Served& served, const BenchOptions& o) {
  const ModelConfig& config = *served.config;
  describe(served, o, "model", config.depth, config.heads, config.kv_heads, config.dim,
           config.head_dim);
  served.headline = fmt::format("a model of {}, {} query and {} kv heads of {}, f32{}",
                                counted(config.depth, "layer"), config.heads, config.kv_heads,
                                config.head_dim, cache_text(o));
}

Served checkpoint_of(const BenchOptions& o, bool arithmetic) {
  Served served;
  ReadLimits limits;
  limits.max_bytes = o.max_bytes;
  const Hdf5Reader reader = Hdf5Reader::open(o.input, limits);
  served.history = read_history(reader);
  served.config = decoder_config(reader);
  if (arithmetic) served.model = read_model<float>(reader);
  if (served.model && o.window) served.model = windowed(std::move(served.model), *o.window);
  describe_model(served, o);
  return served;
}

// Positions that a table has of its own accord reach as far as contiguous buffers do.
Served random_model_of(const BenchOptions& o, bool arithmetic) {
  Served served;
  const Index usual = o.shape.max_positions.value_or(kUsualPositions);
  served.config =
      shaped_model(o, o.kv_heads.front(), o.serving.max_length > 0 ? o.serving.max_length : usual);
  const ModelConfig& config = *served.config;
  if (arithmetic) {
    require_memory("serving", sizeof(float) * static_cast<double>(count_parameters(config).total));
    served.model = std::make_unique<Transformer<float>>(config);
    served.model->params().initialise(static_cast<std::uint64_t>(o.seed));
  }
  describe_model(served, o);
  return served;
}

Served served_of(const BenchOptions& o, bool arithmetic) {
  if (!o.input.empty()) return checkpoint_of(o, arithmetic);
  return o.random_model() ? random_model_of(o, arithmetic) : layer_of(o);
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
    if (served.config) longest = served.config->longest_sequence().value_or(longest);
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
  ServingLoad load = serving_load(lengths, settings);
  if (served.config) check_length(*served.config, load.longest);
  return load;
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

// Asks for it before any is taken.
void require_serving_memory(const Served& served, const ServingLoad& load, Index memory) {
  double bytes = static_cast<double>(memory) + sizeof(Index) * static_cast<double>(load.rows());
  bytes += served.config ? model_subject_bytes(*served.config, load.longest)
                         : layer_subject_bytes(served.layer, load.longest);
  require_memory("serving", bytes);
}

std::vector<ServingSettings> serving_ways(const BenchOptions& o, const ServingLoad& load,
                                          Index memory, Index row_bytes, bool arithmetic) {
  ServingSettings settings;
  settings.page_size = o.page_size;
  settings.memory_rows = memory / row_bytes;
  settings.admission = o.serving.admission;
  settings.window = o.window.value_or(0);
  // Without arithmetic there are no numbers to store.
  if (arithmetic) {
    settings.types = o.serving.types;
  }
  std::vector<ServingSettings> ways;
  const auto add = [&](ServingWay way) {
    settings.way = way;
    const Index least = least_memory_rows(load, settings);
    if (settings.memory_rows < least) {
      throw UsageError(fmt::format(
          "--memory {} does not hold a sequence of {} tokens, which needs {}",
          short_size_text(memory), grouped(load.longest),
          short_size_text(
              checked_mul(least, row_bytes).value_or(std::numeric_limits<Index>::max()))));
    }
    ways.push_back(settings);
  };
  if (o.serving.contiguous) add(ServingWay::kContiguous);
  if (o.serving.paged) add(ServingWay::kPaged);
  if (o.serving.paged && o.serving.shared_prefix > 0) add(ServingWay::kShared);
  return ways;
}

std::unique_ptr<ServingSubject> make_subject(const BenchOptions& o, Served& served, Index longest,
                                             bool arithmetic) {
  const int threads = static_cast<int>(o.threads);
  const auto seed = static_cast<std::uint64_t>(o.seed);
  if (!arithmetic)
    return std::make_unique<ServedLayer>(LayerShape{1, 1, 1, 1, o.window.value_or(0)}, 1, seed);
  if (served.model) return std::make_unique<ServedModel>(std::move(served.model), longest, threads);
  return std::make_unique<ServedLayer>(served.layer, threads, seed);
}

void add_load(BenchContext& context, const BenchOptions& o, const ServingLoad& load, Index memory,
              Index row_bytes) {
  const bool preempts = o.serving.admission == Admission::kPreempt;
  context.insert(context.end(), {{"requests", load.count()},
                                 {"cached_rows", load.rows()},
                                 {"new_tokens", load.new_tokens()},
                                 {"max_length", load.longest},
                                 {"shared_prefix", load.shared_prefix},
                                 {"arrival_gap", o.serving.arrival_gap},
                                 {"memory_bytes", memory},
                                 {"row_bytes", row_bytes},
                                 {"admission", std::string(preempts ? "preempt" : "worst-case")}});
}

std::vector<std::string> doubts_of(const ServingExperiment& experiment) {
  std::vector<const Samples*> times;
  for (const ServingRow& row : experiment.rows()) times.push_back(&row.wall);
  return spread_doubts(times);
}

}  // namespace

int run_serve(const BenchOptions& o, cli::Session& session) {
  if (!o.output.empty()) check_output(o.output, {o.input, o.serving.lengths});
  const bool compared = !o.counts_only || o.verify;
  Served served = served_of(o, compared);
  ServingLoad load = load_of(o, served);
  const std::string requests = counted(load.count(), "request");
  const Index memory = memory_of(o, load, served.row_bytes);
  const std::vector<ServingSettings> ways =
      serving_ways(o, load, memory, served.row_bytes, compared);
  require_serving_memory(served, load, compared ? memory : 0);
  BenchContext context = served.context;
  add_load(context, o, load, memory, served.row_bytes);
  const Machine machine = this_machine();
  if (!o.counts_only) add_timing_context(context, session, o, machine);
  auto subject = make_subject(o, served, load.longest, compared);
  ServingExperiment experiment(std::move(subject), std::move(load), ways,
                               static_cast<std::uint64_t>(o.seed));
  const Stopwatch watch;
  experiment.verify(compared);
  const double round_seconds = static_cast<double>(watch.elapsed().wall_ns) * 1e-9;
  const bool agreed = experiment.agreement().counts && experiment.agreement().outputs;
  const bool timed = agreed && !o.counts_only;
  if (timed) {
    const Interleaving how = serving_rounds_of(o, round_seconds, session);
    context.emplace_back("warmup", how.warmup);
    context.emplace_back("repeats", how.repeats);
    measure_with_progress(session, "runs",
                          [&](const auto& progress) { experiment.measure(how, progress); });
    for (const auto& doubt : doubts_of(experiment)) session.warn(doubt);
  }
  if (!o.output.empty()) {
    write_bench_file(o, session, served.history, [&](Hdf5Writer& writer) {
      write_serving(writer, context, serving_columns(experiment, served.row_bytes, timed),
                    experiment);
    });
  }
  session.report().write(serve_report(
      experiment, context,
      {o.format, served.headline, memory, served.row_bytes, o.counts_only, timed, compared}));
  session.did(fmt::format("served {} in {}{}: {}", requests,
                          counted(std::ssize(experiment.rows()), "way"), timed ? ", timed" : "",
                          agreement_words(experiment.agreement())));
  return experiment.agreement().counts && experiment.agreement().outputs ? cli::kDone : cli::kNo;
}

}  // namespace attn
