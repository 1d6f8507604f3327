#pragma once

#include <optional>
#include <string>

#include "bench/kv_types.h"
#include "bench/serving.h"
#include "cli/option_table.h"

namespace attn {

/// What the command line says of serving.
struct ServeOptions {
  bool wanted = false;  // --requests or --lengths
  std::optional<Index> requests;
  std::string lengths;
  Index max_length = 0;  // 0: the longest
  std::optional<Index> prompt, new_tokens;
  std::optional<Index> memory;
  double arrival_gap = 0;
  Index shared_prefix = 0;
  Admission admission = Admission::kWorstCase;
  bool contiguous = true, paged = true;  // --cache
  KvTypes types;
};

struct BenchOptions;

void declare_serving(cli::OptionTable& table, ServeOptions& options);
/// Throws UsageError for options that do not go together, and takes those that other modes have.
void check_serving(const cli::OptionTable& table, BenchOptions& options);

}  // namespace attn
