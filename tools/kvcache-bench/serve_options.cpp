#include "kvcache-bench/serve_options.h"

#include <fmt/core.h>

#include "core/error.h"
#include "kvcache-bench/options.h"
#include "sizing/paging.h"

namespace attn {
namespace {

// What asked for serving.
const char* mode(const cli::OptionTable& table) {
  return table.given("requests") ? "requests" : "lengths";
}

// The one number of an option that elsewhere takes several; nothing where it was not given.
std::optional<Index> only_one(const cli::OptionTable& table, const char* name,
                              const std::vector<Index>& values) {
  if (!table.given(name)) return std::nullopt;
  if (values.size() != 1)
    throw UsageError(fmt::format("--{} takes one number beside --{}", name, mode(table)));
  return values.front();
}

KvType only_type(const cli::OptionTable& table, const char* name,
                 const std::vector<KvType>& types) {
  if (types.size() != 1)
    throw UsageError(fmt::format("--{} takes one type beside --{}", name, mode(table)));
  return types.front();
}

}  // namespace

void declare_serving(cli::OptionTable& table, ServeOptions& o) {
  table.group("Serving, simulated");
  table.count("requests", o.requests, "sequences that come, decode together and leave")
      .at_most(1'000'000)
      .default_is("64, or --lengths'");
  table
      .input("lengths", o.lengths,
             "their lengths: a text, FILE.h5:/dataset, uniform:LOW:HIGH, geometric:MEAN or "
             "lognormal:MEAN:SIGMA")
      .default_is("lognormal:500:0.8");
  table.count("max-length", o.max_length, "tokens of a contiguous reservation")
      .default_is("the longest");
  table.size("memory", o.memory, "bytes for keys and values")
      .at_least(1)
      .default_is("8 of --max-length");
  table.real("arrival-gap", o.arrival_gap, "steps between arrivals, on average; 0: all at once")
      .at_least(0)
      .at_most(1e9);
  table.count("shared-prefix", o.shared_prefix, "tokens that all prompts begin with").at_least(0);
  table.choice<Admission, Admission>(
      "admission", o.admission,
      {{"worst-case", Admission::kWorstCase}, {"preempt", Admission::kPreempt}},
      "who waits enters when all it will need is free, or when its prompt fits, and the "
      "youngest gives way when the pool is full");
}

void check_serving(const cli::OptionTable& table, BenchOptions& options) {
  ServeOptions& o = options.serving;
  o.wanted = table.given("requests") || table.given("lengths");
  if (!o.wanted) {
    for (const char* name : {"max-length", "memory", "arrival-gap", "shared-prefix", "admission"}) {
      if (table.given(name)) {
        throw UsageError(fmt::format("--{} is of serving: --requests N or --lengths", name));
      }
    }
    return;
  }
  for (const char* mode : {"requests", "lengths"}) {
    for (const char* other : {"tokens", "preset"}) {
      if (table.given(mode) && table.given(other))
        throw UsageError(fmt::format("--{} and --{} do not go together", mode, other));
    }
  }
  o.types.keys = only_type(table, "k-dtype", options.k_types);
  o.types.values = only_type(table, "v-dtype", options.v_types);
  const bool drawn = o.lengths.empty() || is_distribution(o.lengths);
  if (o.requests && !drawn) {
    throw UsageError("--requests counts what a distribution draws: --lengths is a file",
                     {"lognormal:500:0.8 draws, 64 unless --requests says otherwise"});
  }
  o.prompt = only_one(table, "prompt", options.prompt);
  o.new_tokens = only_one(table, "new-tokens", options.new_tokens);
  if (o.prompt && o.new_tokens && !o.lengths.empty()) {
    throw UsageError("--lengths, --prompt and --new-tokens: two of them say all",
                     {"a length is the prompt's and the new tokens but the last"});
  }
  if (options.kv_heads.size() > 1)
    throw UsageError(fmt::format("--kv-heads takes one number beside --{}", mode(table)));
  if (!table.given("cache")) return;
  if (options.has_cache(CacheKind::kNone))
    throw UsageError(fmt::format("--cache none serves nobody beside --{}", mode(table)));
  o.contiguous = options.has_cache(CacheKind::kContiguous);
  o.paged = options.has_cache(CacheKind::kPaged);
  if (o.paged) return;
  // What only pages listen to.
  for (const char* name : {"page-size", "admission"}) {
    if (table.given(name))
      throw UsageError(fmt::format("--{} is of pages: --cache contiguous has none", name));
  }
}

}  // namespace attn
