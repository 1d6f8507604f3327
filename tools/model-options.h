#pragma once

#include <optional>

#include "cli/option_table.h"
#include "model/model_config.h"

namespace attn {

/// A model's shape as options state it; what nobody stated follows from the rest.
struct ModelOptions {
  ModelConfig config;
  std::optional<Index> kv_heads;       // as heads
  std::optional<Index> head_dim;       // dim / heads
  std::optional<Index> mlp_hidden;     // 4 * dim
  std::optional<Index> max_positions;  // the trained sequence
};

/// Declares the architecture's switches, each under its attribute's name in a checkpoint and with
/// the words that files have.
void declare_model(cli::OptionTable& table, ModelOptions& options);

/// Throws UsageError for a switch that was given although nothing listens to it.
void refuse_idle_options(const cli::OptionTable& table, const ModelOptions& options);

/// The whole configuration for a vocabulary and for sequences of `seq_len` tokens. Throws
/// UsageError where the numbers do not make a model.
ModelConfig model_config(const ModelOptions& options, Index vocab_size, Index seq_len);

}  // namespace attn
