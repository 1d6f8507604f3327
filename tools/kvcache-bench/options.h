#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "bench/decode_subject.h"
#include "bench/layer_subject.h"
#include "cli/common_options.h"
#include "cli/option_table.h"
#include "core/parallel.h"
#include "kvcache-bench/quality_options.h"
#include "kvcache-bench/serve_options.h"
#include "model-options.h"
#include "nn/kv_cache.h"
#include "nn/kv_type.h"

namespace attn {

/// What kvcache-bench's command line says.
struct BenchOptions {
  std::string input;
  std::string output;
  std::string preset;
  std::string model;  // a whole decoder by name
  ModelOptions shape;
  std::vector<Index> kv_heads;  // to compare; of a checkpoint empty
  std::optional<Index> window;
  LayerShape layer;  // what shape says of one layer, with the first of kv_heads
  std::vector<Index> tokens = {512};
  std::vector<Index> prompt = {1};
  std::vector<Index> new_tokens = {64};
  bool prompt_apart = false;  // --prompt or --new-tokens instead of --tokens
  Index page_size = kPageRows;
  std::vector<CacheKind> caches = {CacheKind::kContiguous, CacheKind::kNone};
  std::vector<KvType> k_types = {KvType::kNative};
  std::vector<KvType> v_types = {KvType::kNative};
  ServeOptions serving;
  QualityOptions quality;
  bool counts_only = false;
  bool verify = false;  // with counts_only: at full width, so that outputs can be compared
  bool show = false;
  std::optional<Index> repeats;
  std::optional<Index> warmup;
  Index seed = 0;
  Index threads = available_threads();
  Index max_bytes = cli::kDefaultMaxBytes;
  cli::Format format = cli::Format::kText;

  bool has_cache(CacheKind kind) const {
    return std::find(caches.begin(), caches.end(), kind) != caches.end();
  }
  /// A whole model by shape; else one layer, or a checkpoint.
  bool random_model() const { return !model.empty() || shape.depth; }
};

/// Every kind of cache with every pair of types, but without a cache once.
std::vector<CacheWay> ways_of(const BenchOptions& options);

/// Declares all options, and the rules about which go together.
void declare(cli::OptionTable& table, BenchOptions& options);

}  // namespace attn
