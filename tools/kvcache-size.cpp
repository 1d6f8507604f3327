// kvcache-size: bytes that cached keys and values occupy.
//   kvcache-size --layers 32 --kv-heads 32,8,1 --head-dim 128 --tokens 4096
//   kvcache-size --model llama-3.1-8b --tokens 1Ki-128Ki*2 --show
//   kvcache-size --config config.json --tokens 32Ki --cache-dtype f16,q8_0 --json
//   kvcache-size --config config.json --tokens 32Ki --runtime vllm --tensor-parallel 2 --explain
//   kvcache-size -i model.h5 --tokens 12

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/common_options.h"
#include "cli/number.h"
#include "cli/tool.h"
#include "core/error.h"
#include "core/text.h"
#include "io/hdf5_version.h"
#include "io/hdf5_writer.h"
#include "io/output.h"
#include "io/provenance.h"
#include "kvcache-size-budget.h"
#include "kvcache-size-log.h"
#include "kvcache-size-models.h"
#include "kvcache-size-options.h"
#include "kvcache-size-paging.h"
#include "kvcache-size-rates.h"
#include "kvcache-size-report.h"
#include "sizing/size_grid.h"
#include "sizing/size_grid_file.h"

namespace {

using namespace attn;
using Options = SizeOptions;

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
      .default_is(standard);
}

void declare_shape(cli::OptionTable& table, Options& o) {
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
              "- for stdin; may be given several times")
      .repeatable();
  table.texts("model", o.models, "a model that is known; may be given several times")
      .argument("NAME");
  table.flag("list-models", o.list_models, "name the models that are known").not_data();
  table
      .text("assume", o.assume,
            "read the configuration as one of this family (such as llama), whatever it calls "
            "itself")
      .argument("FAMILY");
  table
      .choice("mla", o.mla, {"latent", "expanded"},
              "what latent attention keeps: its rows, or keys and values of every head")
      .default_is("latent; expanded with --runtime transformers");
}

void declare_question(cli::OptionTable& table, Options& o) {
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

void declare_runtime(cli::OptionTable& table, Options& o) {
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

void declare_budget(cli::OptionTable& table, Options& o) {
  table.group("What fits (with --tokens the largest batch, with --batch the largest context)");
  table.size("memory", o.memory, "memory of one GPU (of one rank)").at_least(1);
  table
      .text("weights", o.weights,
            "bytes of the weights: a size, a safetensors index, or auto, counted from the "
            "configuration")
      .argument("SIZE|FILE|auto");
  table.text("weight-dtype", o.weight_dtype, "how a weight is stored")
      .argument("TYPE")
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

void declare(cli::OptionTable& table, Options& o) {
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

// Questions in which tokens are found or not asked about.
bool without_tokens(const Options& o) {
  return o.memory || !o.lengths.empty() || !o.log.empty();
}

void check_options(const Options& o) {
  if (o.memory && (o.bandwidth || o.flops || o.min_rate)) {
    throw UsageError("--memory and --bandwidth ask two questions: give one");
  }
  if (o.min_rate && !o.bandwidth && !o.flops) {
    throw UsageError("--min-rate needs --bandwidth or --flops");
  }
  if ((o.bandwidth || o.flops) && o.weights.empty()) {
    throw UsageError("--weights is missing: a step reads the weights as well (auto counts them)");
  }
  const bool another = without_tokens(o) || o.bandwidth || o.flops;
  if (another && !o.output.empty()) {
    throw UsageError("--output holds the grid of sizes, and nothing of the other questions");
  }
  if (another && o.show) throw UsageError("--show draws sizes, and nothing of the other questions");
  if (without_tokens(o) && o.tokens.empty()) return;
  if (o.tokens.empty() && o.images.empty()) {
    throw UsageError(fmt::format(
        "--tokens is missing: how many tokens of each sequence are cached{}",
        o.input.empty() ? "" : fmt::format(" with the shape of '{}'", escaped(o.input))));
  }
  if (o.show && o.tokens.size() < 2) {
    throw UsageError("--show draws bytes against tokens: give several --tokens",
                     {"such as --tokens 1Ki-128Ki*2"});
  }
}

std::vector<TypePair> type_pairs(const Options& o, const std::vector<CacheSpec>& shapes) {
  std::vector<CacheType> both = o.types;
  if (both.empty()) {
    const bool same = std::all_of(shapes.begin(), shapes.end(), [&](const CacheSpec& spec) {
      return spec.cache_type == shapes.front().cache_type;
    });
    const std::string stated = same ? shapes.front().cache_type : "";
    both.push_back(cache_type(stated.empty() ? "f16" : stated, "--cache-dtype"));
  }
  std::vector<TypePair> pairs;
  if (o.key_types.empty() && o.value_types.empty()) {
    for (const CacheType& type : both) pairs.push_back({type, type});
    return pairs;
  }
  for (const CacheType& keys : o.key_types.empty() ? both : o.key_types) {
    for (const CacheType& values : o.value_types.empty() ? both : o.value_types) {
      pairs.push_back({keys, values});
    }
  }
  return pairs;
}

// Images are tokens like others, or the other sequence where layers attend to them apart.
void place_images(const Options& o, SizeGrid& grid) {
  if (o.images.empty()) return;
  const bool apart = std::any_of(grid.shapes.begin(), grid.shapes.end(), [](const CacheSpec& spec) {
    return spec.family.starts_with("mllama");
  });
  std::vector<Index> of_images;
  for (const Index images : o.images) {
    const auto tokens = checked_mul(images, o.tokens_per_image);
    if (!tokens) throw UsageError("--images are too many: more than 2^63 tokens");
    of_images.push_back(*tokens);
  }
  if (apart) {
    grid.encoder_tokens = of_images;
    return;
  }
  grid.tokens.clear();
  for (const Index text : o.tokens.empty() ? std::vector<Index>{0} : o.tokens) {
    for (const Index tokens : of_images) {
      const auto sum = checked_add(text, tokens);
      if (!sum) throw UsageError("--images are too many: more than 2^63 tokens");
      grid.tokens.push_back(*sum);
    }
  }
}

SizeGrid asked_grid(const Options& o) {
  check_models(o);
  check_options(o);
  SizeGrid grid;
  grid.shapes = asked_models(o);
  grid.tokens = o.tokens.empty() ? std::vector<Index>{1} : o.tokens;
  grid.batches = o.batches;
  if (!o.encoder_tokens.empty()) grid.encoder_tokens = o.encoder_tokens;
  place_images(o, grid);
  grid.types = type_pairs(o, grid.shapes);
  grid.ranks = o.ranks;
  grid.runtime = o.policy;
  grid.check();
  return grid;
}

void write_file(const Options& o, const SizeGrid& grid, const std::string& history) {
  Hdf5Writer writer;
  write_size_grid(writer, grid, o.axes);
  Provenance provenance;
  provenance.command = history;
  write_provenance(writer, provenance);
  write_output(o.output, writer.finish());
}

int run(const Options& typed, cli::Session& session) {
  Options o = typed;
  o.policy.kind = runtime_kind(o.runtime);
  if (o.list_models) {
    list_models(o.format, session.report());
    return cli::kDone;
  }
  const SizeGrid grid = asked_grid(o);
  o.tokens_given = session.given("tokens") || session.given("images");
  o.batch_given = session.given("batch");
  if (!o.log.empty()) return report_log(grid, o, session);
  if (o.memory) return report_budget(grid, o, session);
  if (!o.lengths.empty()) {
    report_paging(grid, o, session);
    return cli::kDone;
  }
  if (o.bandwidth || o.flops) {
    report_rates(grid, o, session);
    return cli::kDone;
  }
  // The file first: where it cannot be written, nothing is reported.
  if (!o.output.empty()) write_file(o, grid, session.history());
  if (session.report().wanted()) {
    cli::Report& report = session.report();
    report_sizes(grid, o, report);
    if (o.show) report.print("\n{}", size_picture(grid, session.terminal()));
  }
  return cli::kDone;
}

}  // namespace

int main(int argc, char** argv) {
  return cli::tool_main<Options>(
      {.name = "kvcache-size",
       .summary = "bytes that cached keys and values occupy",
       .usage = "[OPTIONS] [CHECKPOINT]",
       .examples =
           {{"kvcache-size --layers 24 --kv-heads 16 --head-dim 64 --tokens 2000",
             "187.5 MiB (196,608,000 bytes) in 16 bits"},
            {"kvcache-size --layers 32 --kv-heads 32,8,1 --head-dim 128 --tokens 4096",
             "multi-head, grouped-query and multi-query attention: 2 GiB, a quarter, a "
             "thirty-second"},
            {"kvcache-size --model llama-3.1-8b --tokens 1Ki-128Ki*2 --show", "how it grows"},
            {"kvcache-size --config config.json --tokens 32Ki --cache-dtype f16,q8_0", ""},
            {"kvcache-size --model illustrative --images 28 --tokens-per-image 256",
             "seven cameras over four frames: 3.5 GiB"},
            {"kvcache-size --model gpt-oss-20b --tokens 128Ki --runtime llama.cpp --explain",
             "what an engine reserves, and why it is more"}},
       .notes = "Bytes are the sum over the layers that own a cache of\n"
                "  tokens kept x kv heads x (numbers of a key + of a value) x bytes a number,\n"
                "times sequences. Layers with a sliding window keep at most the window, latent\n"
                "attention one row for all heads; recurrent state is reported apart. Numbers that\n"
                "a configuration leaves to its class are named in the answer.",
       .versions = [] { return std::vector<std::string>{hdf5_version()}; }},
      argc, argv, declare, run);
}
