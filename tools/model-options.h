#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/option_table.h"
#include "cli/session.h"
#include "model/model_config.h"

namespace attn {

/// A model's shape as options state it; what nobody stated follows from the rest or the data.
struct ModelOptions {
  ModelConfig config;
  std::optional<Arch> arch;                // the task's
  std::optional<Index> vocab_size;         // the data's
  std::optional<Index> source_vocab_size;  // the data's
  std::optional<Index> dim, depth;         // the task's
  std::optional<Index> encoder_depth;      // as depth
  std::optional<Index> kv_heads;           // as heads
  std::optional<Index> head_dim;           // dim / heads
  std::optional<Index> mlp_hidden;         // 4 * dim
  std::optional<Index> max_positions;      // the longest sequence of the data
};

/// What the data and the task bring along.
struct ModelNeeds {
  Arch arch = Arch::kDecoder;
  Index vocab_size = 0;
  Index source_vocab_size = 0;
  Index seq_len = 0;
  Index source_len = 0;
  Index dim = 64;
  Index depth = 2;
};

/// Declares the architecture's switches, each under its attribute's name in a checkpoint and with
/// the words that files have.
void declare_model(cli::OptionTable& table, ModelOptions& options);

/// Those of them that say how a model is made rather than how large it is: the MLP, norms,
/// positions, biases. longest: the default of --max-positions in words.
void declare_model_parts(cli::OptionTable& table, ModelOptions& options,
                         const std::string& longest);

/// The options that state this configuration: a preset's, or a checkpoint's. Zeros stay unstated.
ModelOptions stated(const ModelConfig& config);

/// Throws UsageError for a switch that was given although nothing in a model of this arrangement
/// listens to it.
void refuse_idle_options(const cli::Session& session, const ModelOptions& options, Arch arch);

/// The same for those of declare_model_parts(); given: was this option typed?
void refuse_idle_parts(const std::function<bool(const char*)>& given, const ModelOptions& options);

/// The whole configuration. Throws UsageError where the numbers do not make a model.
ModelConfig model_config(const ModelOptions& options, const ModelNeeds& needs);

}  // namespace attn
