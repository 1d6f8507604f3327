#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/common_options.h"
#include "core/index.h"
#include "sizing/cache_type.h"
#include "sizing/runtime.h"
#include "sizing/size_grid.h"

namespace attn {

/// What was typed to kvcache-size.
struct SizeOptions {
  ShapeAxes axes;
  std::string input;
  std::vector<std::string> configs;
  std::vector<std::string> models;
  std::string assume;
  std::string mla;
  bool list_models = false;

  std::vector<Index> tokens;
  std::vector<Index> batches = {1};
  std::vector<Index> encoder_tokens;
  std::vector<Index> images;
  Index tokens_per_image = 0;
  std::vector<CacheType> types;
  std::vector<CacheType> key_types;
  std::vector<CacheType> value_types;
  std::vector<Index> ranks = {1};

  std::string runtime = "ideal";
  Runtime policy;

  std::optional<Index> memory;
  std::string weights;
  std::string weight_dtype;
  Index reserved = 0;
  double reserved_part = 0.0;

  bool traffic = false;
  std::optional<Index> bandwidth;
  std::optional<Index> flops;
  std::optional<double> min_rate;
  std::optional<Index> active_parameters;

  std::string lengths;
  std::vector<Index> page_sizes = {1, 8, 16, 32, 64, 128, 256};
  Index sequences = 1000;
  Index max_length = 0;
  Index shared_prefix = 0;
  Index seed = 0;

  std::string log;

  bool tokens_given = false;
  bool batch_given = false;

  std::string output;
  cli::Format format = cli::Format::kText;
  bool show = false;
  bool explain = false;
  bool compare = false;
  Index max_bytes = cli::kDefaultMaxBytes;
};

void declare_size_options(cli::OptionTable& table, SizeOptions& options);

}  // namespace attn
