#pragma once

#include <optional>
#include <string>
#include <vector>

#include "check/cases/case_file.h"
#include "check/cases/probes.h"
#include "check/layer/layer_file.h"
#include "check/verdict/houses.h"
#include "cli/common_options.h"
#include "cli/option_table.h"
#include "core/parallel.h"

namespace attn {

/// What attn-check's command line says.
struct CheckOptions {
  std::string input;
  std::string output;
  std::optional<Index> tokens;
  Index seed = 0;
  CaseNames names;
  CaseAttributes attributes;
  LayerAttributes layer;
  std::string block;        // of a checkpoint: a number, encoder.N, decoder.N.cross
  std::string ids, prompt;  // tokens for it
  std::string source_ids;
  std::string dump;     // what somebody else recorded of that block
  std::string explain;  // a mistake, or "list"
  std::optional<HouseRule> tolerance;
  bool power = false;
  std::vector<Index> cost;  // lengths to measure
  Index cost_heads = 4;
  Index cost_head_dim = 64;
  bool steps = false;
  bool no_scale = false;
  CaseNames projection;              // x, context, q_proj, k_proj, v_proj
  std::vector<Index> compare_heads;  // counts to compare
  Index width = 512;                 // of the layers compared
  bool head_stats = false;
  bool print_weights = false;
  std::string token_ids;           // for induction scores
  std::vector<Index> head;         // numbers of heads
  std::vector<Index> rows;         // numbers of rows
  std::vector<std::string> merge;  // answers to parts of the keys
  bool make_probe = false;
  bool npz = false;
  std::vector<ProbeInput> probe_inputs;
  bool maps = false;
  cli::Format format = cli::Format::kText;
  bool show = false;
  Index threads = available_threads();
  Index max_bytes = cli::kDefaultMaxBytes;
};

/// Declares all options, and the rules about which go together.
void declare(cli::OptionTable& table, CheckOptions& options);

}  // namespace attn
