#pragma once

#include <optional>
#include <string>

#include "cli/common_options.h"
#include "cli/session.h"
#include "core/parallel.h"
#include "model/model_config.h"
#include "model/sampling.h"
#include "text/special_tokens.h"

namespace attn {

/// New tokens where nobody says how many.
inline constexpr Index kNewTokens = 32;

/// What the command line says.
struct Options {
  std::string input;
  std::optional<std::string> prompt;
  std::string prompts;
  bool skip_unknown = false;
  std::optional<Index> new_tokens;
  SamplingSettings sampling;  // its seed is set from the next
  Index seed = 0;
  bool ignore_eos = false;
  SpecialTokens specials;
  bool no_cache = false;
  bool echo = false;
  std::string score;
  std::optional<double> val_fraction;
  std::optional<Index> score_window;
  std::string dump_attention;
  bool show = false;
  bool no_verify = false;
  cli::Format format = cli::Format::kText;
  Index threads = available_threads();
  Index max_bytes = cli::kDefaultMaxBytes;
};

void declare(cli::OptionTable& table, Options& options);

/// Throws UsageError for an option that the model's arrangement has no use for.
void refuse_idle_options(Arch arch, const cli::Session& session);

}  // namespace attn
