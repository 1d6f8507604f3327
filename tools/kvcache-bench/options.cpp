#include "kvcache-bench/options.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "core/dtype.h"
#include "core/error.h"
#include "core/text.h"
#include "kvcache-bench/show.h"
#include "model/presets.h"

namespace attn {
namespace {

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

std::vector<std::string> type_names() {
  std::vector<std::string> names;
  for (const KvType one : kv_types()) names.push_back(kv_type_name(one));
  return names;
}

// f32, or several with commas between.
std::vector<KvType> parse_types(std::string_view text, const char* option) {
  std::vector<KvType> types;
  for (const std::string_view word : split(text, ',')) {
    const std::optional<DType> plain = parse_dtype(word);
    const std::optional<KvType> type = parse_kv_type(plain ? dtype_name(*plain) : word);
    if (!type) {
      throw UsageError(fmt::format("{} wants one of {}, or several: {}", option,
                                   fmt::join(type_names(), ", "), escaped(word)));
    }
    if (std::find(types.begin(), types.end(), *type) != types.end())
      throw UsageError(fmt::format("{} names one twice: {}", option, escaped(text)));
    types.push_back(*type);
  }
  return types;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const ModelPreset& preset : model_presets()) {
    if (preset.config.arch == Arch::kDecoder) names.push_back(preset.name);
  }
  return names;
}

void take_model(std::string_view name, BenchOptions& o) {
  const ModelPreset& preset = model_preset(name, "--model");
  if (preset.config.arch != Arch::kDecoder) {
    throw UsageError(fmt::format("--model {}: only a decoder can decode, this is of arch {}",
                                 preset.name, enum_name(preset.config.arch)));
  }
  o.model = preset.name;
  o.shape = stated(preset.config);
}

// The tutorial's layer is what the fields hold anyway.
void take_preset(const cli::OptionTable& table, BenchOptions& o) {
  if (o.preset != "long-context") return;
  o.kv_heads = {8, 1};
  o.prompt = {8192};
  o.new_tokens = {64};
  o.prompt_apart = true;
  if (!table.given("cache")) o.caches = {CacheKind::kContiguous, CacheKind::kPaged};
}

// How a whole model is made, beside its sizes.
constexpr const char* kModelParts[] = {
    "vocab-size", "mlp-hidden",    "activation",     "norm",     "final-norm",
    "norm-type",  "norm-bias",     "norm-eps",       "position", "rope-style",
    "rope-base",  "max-positions", "tie-embeddings", "bias",     "head-bias"};

void check_shape(const cli::OptionTable& table, BenchOptions& o) {
  const ModelConfig& config = o.shape.config;
  if (!o.random_model()) {
    for (const char* part : kModelParts) {
      if (!table.given(part)) continue;
      throw UsageError(fmt::format("--{} is of a whole model, and this is one layer", part),
                       {"--depth N or --model NAME makes a model"});
    }
  }
  refuse_idle_parts([&table](const char* name) { return table.given(name); }, o.shape);
  LayerShape& layer = o.layer;
  layer.dim = o.shape.dim.value_or(layer.dim);
  layer.heads = config.heads;
  if (!o.shape.head_dim && layer.dim % layer.heads != 0) {
    throw UsageError(
        fmt::format("--heads must divide --dim: {} does not divide {}", layer.heads, layer.dim),
        {"--head-dim N sets the features of a head apart from --dim"});
  }
  layer.head_dim = o.shape.head_dim.value_or(layer.dim / layer.heads);
  layer.window = o.window.value_or(0);
  if (o.kv_heads.empty()) o.kv_heads = {o.shape.kv_heads.value_or(layer.heads)};
  for (const Index kv_heads : o.kv_heads) {
    layer.kv_heads = kv_heads;
    validate(layer);
  }
  layer.kv_heads = o.kv_heads.front();
}

// What none of the ways listens to.
void check_idle_cache_options(const cli::OptionTable& table, const BenchOptions& o) {
  if (table.given("page-size") && !o.has_cache(CacheKind::kPaged))
    throw UsageError("--page-size is of pages: --cache paged, or contiguous,paged,none");
  const bool cached = std::any_of(o.caches.begin(), o.caches.end(),
                                  [](CacheKind kind) { return kind != CacheKind::kNone; });
  for (const char* name : {"k-dtype", "v-dtype"}) {
    if (table.given(name) && !cached)
      throw UsageError(fmt::format("--{} is of a cache: --cache none has none", name));
  }
}

void check_combinations(const cli::OptionTable& table, BenchOptions& o) {
  const auto refuse_beside = [&](const char* option, std::initializer_list<const char*> others) {
    if (!table.given(option)) return;
    for (const char* other : others) {
      if (table.given(other))
        throw UsageError(fmt::format("--{} and --{} do not go together", option, other));
    }
  };
  const std::initializer_list<const char*> sizes = {"dim", "heads", "kv-heads", "head-dim",
                                                    "depth"};
  refuse_beside("preset", {"input", "model", "tokens", "prompt", "new-tokens"});
  refuse_beside("preset", sizes);
  // Reports under a preset's name are to be compared.
  refuse_beside("preset", {"window", "k-dtype", "v-dtype"});
  refuse_beside("input", {"model"});
  refuse_beside("input", sizes);
  refuse_beside("tokens", {"prompt", "new-tokens"});
  refuse_beside("counts-only", {"repeats", "warmup"});
  if (o.verify && !o.counts_only)
    throw UsageError("--verify is for --counts-only: where times are taken, outputs are compared");
  take_preset(table, o);
  if (table.given("prompt") || table.given("new-tokens")) o.prompt_apart = true;
  check_show(table, o);
  check_serving(table, o);
  check_quality(table, o.quality);
  if (!o.serving.wanted && !o.quality.wanted()) check_idle_cache_options(table, o);
  if (!o.input.empty()) {
    for (const char* part : kModelParts) refuse_beside("input", {part});
    return;
  }
  check_shape(table, o);
}

void declare_subject(cli::OptionTable& table, BenchOptions& o) {
  table.group("What decodes");
  cli::input_option(table, o.input, "checkpoint whose model decodes, - for stdin; else one layer");
  table.choice("preset", o.preset, {"tutorial", "long-context"},
               "runs of one attention layer of width 512 whose reports compare: 512 tokens with a "
               "cache and without (the model of that name is --model tutorial); 8 and 1 kv heads "
               "after 8192 tokens; 5 rounds after 1 to warm up");
  table
      .custom(
          "model", "NAME", [&o](std::string_view name) { take_model(name, o); },
          fmt::format("a whole decoder by name, of random tensors, the shapes of tinygpt-train's "
                      "--preset ({})",
                      fmt::join(model_names(), ", ")))
      .before_others()
      .completes(model_names());
  o.shape.config.heads = o.layer.heads;
  table.count("depth", o.shape.depth, "a whole decoder of so many blocks, of random tensors");
  table.count("dim", o.shape.dim, "width of a token's row").default_is("512");
  table.count("heads", o.shape.config.heads, "query heads");
  table.counts("kv-heads", o.kv_heads, "key-value heads to compare").default_is("--heads");
  table.count("head-dim", o.shape.head_dim, "features of a head").default_is("dim / heads");
  table.count("window", o.window, "keys that a token sees, itself among them").default_is("all");
  table.group("How a whole decoder is made");
  table.count("vocab-size", o.shape.vocab_size, "tokens there are").default_is("256");
  declare_model_parts(table, o.shape, "what is decoded");
}

void declare_work(cli::OptionTable& table, BenchOptions& o) {
  table.group("What is decoded");
  table.counts("tokens", o.tokens, "n given tokens, one by one");
  table.counts("prompt", o.prompt, "or: P tokens at once ...");
  table.counts("new-tokens", o.new_tokens, "... and N after them, the last never fed back");
  table
      .custom(
          "cache", "LIST", [&o](std::string_view text) { o.caches = parse_caches(text); },
          "ways to compare: contiguous, paged, none (default contiguous,none)")
      .completes({"contiguous", "paged", "none"});
  table.count("page-size", o.page_size, "rows of a page of the paged cache");
  table
      .custom(
          "k-dtype", "LIST",
          [&o](std::string_view text) { o.k_types = parse_types(text, "--k-dtype"); },
          "how cached keys are stored: f32, f16, bf16, q8_0, q4_0")
      .completes(type_names())
      .default_is("f32");
  table
      .custom(
          "v-dtype", "LIST",
          [&o](std::string_view text) { o.v_types = parse_types(text, "--v-dtype"); },
          "how cached values are stored; every pair is a way")
      .completes(type_names())
      .default_is("f32");
  cli::seed_option(table, o.seed);
}

void declare_measuring(cli::OptionTable& table, BenchOptions& o) {
  table.group("How it is measured");
  table.flag("counts-only", o.counts_only, "count rows and bytes, in a moment; take no times");
  table.flag("verify", o.verify, "with --counts-only: compare the outputs too");
  table.count("repeats", o.repeats, "timed rounds").default_is("7, fewer of long ones");
  table.count("warmup", o.warmup, "rounds before them, in full")
      .at_least(0)
      .default_is("3, fewer of long ones");
  cli::threads_option(table, o.threads);
}

void declare_results(cli::OptionTable& table, BenchOptions& o) {
  table.group("Results");
  cli::output_option(table, o.output);
  cli::format_options(table, o.format,
                      {cli::Format::kText, cli::Format::kMarkdown, cli::Format::kTsv,
                       cli::Format::kCsv, cli::Format::kJson, cli::Format::kJsonLines});
  cli::show_options(table, o.show, "draw counts and times against tokens");
  cli::max_bytes_option(table, o.max_bytes);
  cli::progress_option(table);
}

}  // namespace

std::vector<CacheWay> ways_of(const BenchOptions& o) {
  std::vector<CacheWay> ways;
  for (const CacheKind kind : o.caches) {
    if (kind == CacheKind::kNone) {
      ways.emplace_back(kind);
      continue;
    }
    for (const KvType k_type : o.k_types) {
      for (const KvType v_type : o.v_types) ways.emplace_back(kind, k_type, v_type);
    }
  }
  return ways;
}

void declare(cli::OptionTable& table, BenchOptions& o) {
  declare_subject(table, o);
  declare_work(table, o);
  declare_serving(table, o.serving);
  declare_quality(table, o.quality);
  declare_measuring(table, o);
  declare_results(table, o);
  table.check([&table, &o] { check_combinations(table, o); });
}

}  // namespace attn
