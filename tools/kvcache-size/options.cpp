#include "kvcache-size/options.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "cli/number.h"
#include "core/error.h"
#include "core/text.h"
#include "sizing/families/family.h"
#include "sizing/known_models.h"

namespace attn {
namespace {

void type_option(cli::OptionTable& table, const char* name, std::vector<CacheType>& field,
                 const std::string& help, const char* standard) {
  table
      .custom(
          name, "LIST",
          [&field, name](std::string_view text) {
            field.clear();
            for (const std::string_view word : split(text, ',')) {
              field.push_back(cache_type(word, fmt::format("--{}", name)));
            }
          },
          help)
      .completes_from(cache_type_names)
      .default_is(standard);
}

void declare_shape(cli::OptionTable& table, SizeOptions& o) {
  table.group("Shape, by numbers (LIST: 32,8,1 or 1-8 or 16-64+16 or 1Ki-128Ki*2)");
  table.counts("layers", o.axes.layers, "layers that own a cache").letter('l');
  table.counts("kv-heads", o.axes.kv_heads,
               "key-value heads: as many as query heads for "
               "multi-head, 1 for multi-query attention");
  table.counts("head-dim", o.axes.head_dims, "numbers of one head");
  table.group("Shape, from elsewhere");
  cli::input_option(table, o.input,
                    "checkpoint (HDF5): its shape, and f32; or a GGUF file; - for stdin");
  table
      .inputs("config", o.configs,
              "config.json of a Hugging Face model, a GGUF file, a directory of configurations, "
              "- for stdin")
      .repeatable();
  table.texts("model", o.models, "a model that is known").argument("NAME").completes_from([] {
    std::vector<std::string> names;
    for (const KnownModel& model : known_models()) names.push_back(model.name);
    return names;
  });
  table.flag("list-models", o.list_models, "name the models that are known").not_data();
  table
      .text("assume", o.assume,
            "read the configuration as one of this family (such as llama), whatever it calls "
            "itself")
      .argument("FAMILY")
      .completes_from(family_names);
  table
      .choice("mla", o.mla, {"latent", "expanded"},
              "what latent attention keeps: its rows, or keys and values of every head")
      .default_is("latent; expanded with --runtime transformers");
}

void declare_question(cli::OptionTable& table, SizeOptions& o) {
  table.group("What is cached");
  table.counts("tokens", o.tokens, "tokens of each sequence: prompt and generated").letter('t');
  table.counts("batch", o.batches, "sequences at once").letter('b');
  table.counts("encoder-tokens", o.encoder_tokens,
               "tokens of the other sequence, for cross-attention");
  table.counts("images", o.images, "images in each sequence, beside its --tokens").at_least(0);
  table.count("tokens-per-image", o.tokens_per_image, "tokens that stand for one image")
      .default_is("");
  type_option(table, "cache-dtype", o.types,
              fmt::format("how a number is stored: {} (kivi4:GROUP:RESIDUAL)",
                          fmt::join(cache_type_names(), ", ")),
              "what the configuration says of its cache, else f16; f32 with a checkpoint");
  type_option(table, "k-dtype", o.key_types, "the same for keys alone", "--cache-dtype");
  type_option(table, "v-dtype", o.value_types, "the same for values alone", "--cache-dtype");
  table.counts("tensor-parallel", o.ranks,
               "ranks that share the heads; a rank holds whole ones, and latent rows whole");
}

void declare_runtime(cli::OptionTable& table, SizeOptions& o) {
  table.group("Who allocates it");
  table.choice("runtime", o.runtime, runtime_names(),
               "ideal: the rows that attention still sees; else what the engine reserves");
  table.count("block-size", o.policy.block_size, "vllm: tokens of a page");
  table.count("batched-tokens", o.policy.batched_tokens,
              "vllm: --max-num-batched-tokens, by which a window grows");
  table.action(
      "no-hybrid-manager", [&o] { o.policy.hybrid_manager = false; },
      "vllm: windows cost the whole length");
  table.count("ubatch", o.policy.ubatch, "llama.cpp: -ub, by which a window grows");
  table.flag("swa-full", o.policy.swa_full, "llama.cpp: windows cost the whole length");
  table.flag("kv-unified", o.policy.unified, "llama.cpp: one buffer for all sequences");
}

void declare_budget(cli::OptionTable& table, SizeOptions& o) {
  table.group("What fits (with --tokens the largest batch, with --batch the largest context)");
  table.size("memory", o.memory, "memory of one GPU (of one rank)").at_least(1);
  table
      .text("weights", o.weights,
            "bytes of the weights: a size, a safetensors index, or auto, counted from the "
            "configuration")
      .argument("SIZE|FILE|auto");
  table.text("weight-dtype", o.weight_dtype, "how a weight is stored")
      .argument("TYPE")
      .completes({"f32", "bf16", "f16", "fp8"})
      .default_is("the configuration's, else bf16");
  table.custom(
      "reserve", "SIZE|N%",
      [&o](std::string_view text) {
        if (!text.ends_with('%')) {
          o.reserved = cli::parse_size(text, "--reserve", {.lowest = 0});
          return;
        }
        text.remove_suffix(1);
        o.reserved_part = cli::parse_real(text, "--reserve", {.lowest = 0, .highest = 100}) / 100;
      },
      "memory for everything else");
  table.group("What is read and computed (of all ranks together; a multiply-add is 2)");
  table
      .flag("traffic", o.traffic,
            "what prefill and a step of decoding read and compute, without times")
      .not_data();
  table.size("bandwidth", o.bandwidth, "bytes of memory a second, such as 3.35T").at_least(1);
  table.size("flops", o.flops, "operations a second, such as 989T").at_least(1).argument("N");
  table
      .real("min-rate", o.min_rate,
            "tokens a second that each sequence must get: the largest batch")
      .above(0);
  table.count("active-parameters", o.active_parameters,
              "parameters that work on one token, where the configuration does not tell");
  table.group("Paging");
  table.input("lengths", o.lengths,
              "lengths of sequences: a text, FILE.h5:/dataset, uniform:LOW:HIGH, geometric:MEAN or "
              "lognormal:MEAN:SIGMA");
  table.counts("page-sizes", o.page_sizes, "tokens of a page");
  table.count("sequences", o.sequences, "how many to draw from a distribution").at_most(1'000'000);
  table.count("max-length", o.max_length, "tokens of a contiguous buffer")
      .default_is("the longest");
  table.count("shared-prefix", o.shared_prefix, "tokens that all sequences begin with").at_least(0);
  cli::seed_option(table, o.seed);
  table.group("An engine's log");
  table.input("log", o.log, "log of vLLM, SGLang or llama.cpp: its cache lines beside ours");
}

}  // namespace

void declare_size_options(cli::OptionTable& table, SizeOptions& o) {
  declare_shape(table, o);
  declare_question(table, o);
  declare_runtime(table, o);
  declare_budget(table, o);
  table.group("Output");
  cli::output_option(table, o.output, "HDF5 file for the grid, - for stdout");
  cli::format_options(table, o.format,
                      {cli::Format::kText, cli::Format::kTsv, cli::Format::kCsv, cli::Format::kJson,
                       cli::Format::kMarkdown});
  table.flag("explain", o.explain, "the arithmetic, the layers, and where each number came from")
      .not_data();
  table.flag("compare", o.compare, "each answer as a multiple of the first").not_data();
  cli::show_options(table, o.show, "draw bytes against tokens");
  cli::max_bytes_option(table, o.max_bytes);
  table.check([&table, &o] {
    if (!o.list_models) return;
    for (const char* other : {"layers", "kv-heads", "head-dim", "input", "config", "model",
                              "tokens", "batch", "cache-dtype", "output", "show"}) {
      if (table.given(other)) {
        throw UsageError(fmt::format("--list-models and --{} do not go together", other));
      }
    }
  });
  table.check([&table] {
    if (table.given("images") == table.given("tokens-per-image")) return;
    throw UsageError(table.given("images")
                         ? "--tokens-per-image is missing: how many tokens an image is"
                         : "--images is missing: how many images of --tokens-per-image");
  });
}

}  // namespace attn
