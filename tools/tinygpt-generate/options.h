#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/common_options.h"
#include "cli/session.h"
#include "core/parallel.h"
#include "model/model_config.h"
#include "model/sampling.h"
#include "text/special_tokens.h"

namespace attn {

/// New tokens where nobody says how many.
inline constexpr Index kNewTokens = 32;
/// Likeliest tokens beside each one in --logprobs, where nobody says how many.
inline constexpr Index kAlternatives = 5;
/// Candidates of --logits where nobody says how many.
inline constexpr Index kExplained = 10;

/// What the command line says.
struct Options {
  std::string input;
  std::optional<std::string> prompt;
  std::string prompts;
  bool skip_unknown = false;

  std::optional<Index> new_tokens;
  SamplingSettings sampling;  // its seed is set from the next
  Index seed = 0;
  Index samples = 1;
  Index beams = 0;  // 0: none are searched
  double length_penalty = 1;
  std::vector<std::string> stop;
  std::vector<Index> stop_ids;
  bool ignore_eos = false;
  SpecialTokens specials;
  Index window = 0;
  enum class Cache { kContiguous, kPaged, kNone };
  Cache cache = Cache::kContiguous;
  Index page_size = kPageRows;
  Index prefill_chunk = 0;

  Index explain_next = 0;
  std::string logits;
  std::vector<Index> rows;

  std::string score;
  std::optional<double> val_fraction;
  std::optional<Index> score_window;

  bool echo = false;
  std::string logprobs;
  std::optional<Index> alternatives;
  bool pools = false;
  std::string dump_attention;
  std::string dump_logits;
  std::string dump_hidden;
  bool show = false;
  bool no_verify = false;
  cli::Format format = cli::Format::kText;
  Index threads = available_threads();
  Index max_bytes = cli::kDefaultMaxBytes;

  bool dumps() const {
    return !dump_attention.empty() || !dump_logits.empty() || !dump_hidden.empty();
  }
};

void declare(cli::OptionTable& table, Options& options);

/// Throws UsageError for options that do not go together.
void check_options(const cli::OptionTable& table, const Options& options);

/// Throws UsageError for an option that the model's arrangement has no use for.
void refuse_idle_options(Arch arch, const cli::Session& session);

}  // namespace attn
