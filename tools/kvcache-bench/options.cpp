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

// f32, or several with commas between.
std::vector<KvType> parse_types(std::string_view text, const char* option) {
  std::vector<KvType> types;
  for (const std::string_view word : split(text, ',')) {
    const std::optional<DType> plain = parse_dtype(word);
    const std::optional<KvType> type = parse_kv_type(plain ? dtype_name(*plain) : word);
    if (!type) {
      std::vector<std::string> names;
      for (const KvType one : kv_types()) names.push_back(kv_type_name(one));
      throw UsageError(fmt::format("{} wants one of {}, or several: {}", option,
                                   fmt::join(names, ", "), escaped(word)));
    }
    if (std::find(types.begin(), types.end(), *type) != types.end())
      throw UsageError(fmt::format("{} names one twice: {}", option, escaped(text)));
    types.push_back(*type);
  }
  return types;
}

void check_combinations(const cli::OptionTable& table, BenchOptions& o) {
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
  check_serving(table, o);
  check_quality(table, o.quality);
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

}  // namespace

void declare(cli::OptionTable& table, BenchOptions& o) {
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
      .default_is("f32");
  table
      .custom(
          "v-dtype", "LIST",
          [&o](std::string_view text) { o.v_types = parse_types(text, "--v-dtype"); },
          "how cached values are stored; every pair is a way")
      .default_is("f32");
  cli::seed_option(table, o.seed);
  declare_serving(table, o.serving);
  declare_quality(table, o.quality);
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
                       cli::Format::kCsv, cli::Format::kJson, cli::Format::kJsonLines});
  cli::max_bytes_option(table, o.max_bytes);
  cli::progress_option(table);
  table.check([&table, &o] { check_combinations(table, o); });
}

}  // namespace attn
