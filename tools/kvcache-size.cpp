// kvcache-size: bytes that cached keys and values occupy.
//   kvcache-size --layers 32 --kv-heads 32,8,1 --head-dim 128 --tokens 4096
//   kvcache-size --model llama-3.1-8b --tokens 1Ki-128Ki*2 --show
//   kvcache-size --config config.json --tokens 32Ki --cache-dtype f16,q8_0 --json
//   kvcache-size --config config.json --tokens 32Ki --runtime vllm --tensor-parallel 2 --explain
//   kvcache-size -i model.h5 --tokens 12

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/common_options.h"
#include "cli/tool.h"
#include "core/error.h"
#include "core/text.h"
#include "io/hdf5_version.h"
#include "io/hdf5_writer.h"
#include "io/output.h"
#include "io/provenance.h"
#include "kvcache-size/budget.h"
#include "kvcache-size/log.h"
#include "kvcache-size/models.h"
#include "kvcache-size/options.h"
#include "kvcache-size/paging.h"
#include "kvcache-size/picture.h"
#include "kvcache-size/rates.h"
#include "kvcache-size/report.h"
#include "sizing/size_grid.h"
#include "sizing/size_grid_file.h"

namespace {

using namespace attn;
using Options = SizeOptions;

// Questions in which tokens are found or not asked about.
bool without_tokens(const Options& o) {
  return o.memory || !o.lengths.empty() || !o.log.empty();
}

bool asks_for_rates(const Options& o) {
  return o.traffic || o.bandwidth || o.flops;
}

void check_options(const Options& o) {
  if (o.memory && (asks_for_rates(o) || o.min_rate)) {
    throw UsageError("--memory and --traffic, --bandwidth, --flops ask two questions: give one");
  }
  if (o.min_rate && !o.bandwidth && !o.flops) {
    throw UsageError("--min-rate needs --bandwidth or --flops");
  }
  if ((o.bandwidth || o.flops) && o.weights.empty()) {
    throw UsageError("--weights is missing: a step reads the weights as well (auto counts them)");
  }
  const bool another = without_tokens(o) || asks_for_rates(o);
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
    session.did(fmt::format("listed {} models", list_models(o.format, session.report())));
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
  if (asks_for_rates(o)) {
    session.did("counted what a step reads and computes: " + grid_words(grid));
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
  session.did("sized " + grid_words(grid));
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
       .meaning_of_no = "nothing of what was asked fits in --memory, or a log differs (--log)",
       .versions = [] { return std::vector<std::string>{hdf5_version()}; }},
      argc, argv, declare_size_options, run);
}
