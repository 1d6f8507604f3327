#include "model-options.h"

#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

namespace attn {
namespace {

template <class Enum>
void enum_option(cli::OptionTable& table, const std::string& name, Enum& field,
                 const std::string& help) {
  std::vector<std::pair<std::string, Enum>> words;
  for (const std::string& word : enum_names<Enum>())
    words.emplace_back(word, *parse_enum<Enum>(word));
  table.choice(name, field, std::move(words), help);
}

template <class Field>
cli::Option& yes_no_option(cli::OptionTable& table, const std::string& name, Field& field,
                           const std::string& help) {
  return table.choice(name, field,
                      std::vector<std::pair<std::string, bool>>{
                          {"1", true}, {"0", false}, {"yes", true}, {"no", false}},
                      help);
}

}  // namespace

void declare_model(cli::OptionTable& table, ModelOptions& options) {
  ModelConfig& model = options.config;
  table.group("Model");
  table.count("dim", model.dim, "width of a token's row");
  table.count("heads", model.heads, "query heads");
  table.count("kv-heads", options.kv_heads, "key-value heads, a divisor of --heads")
      .default_is("as --heads");
  table.count("head-dim", options.head_dim, "features of a head").default_is("--dim / --heads");
  table.count("depth", model.depth, "blocks");
  table.count("mlp-hidden", options.mlp_hidden, "width inside the MLP").default_is("4 x --dim");
  enum_option(table, "activation", model.activation, "of the MLP");
  enum_option(table, "norm", model.norm, "before each sublayer, or after each residual");
  yes_no_option(table, "final-norm", model.final_norm, "a norm after the last block")
      .default_is("yes with --norm pre");
  enum_option(table, "norm-type", model.norm_type, "layer norm, or RMS norm");
  table.real("norm-eps", model.norm_eps, "added to the variance").above(0);
  enum_option(table, "position", model.position, "how order is told");
  enum_option(table, "rope-style", model.rope_style, "which features rope turns together");
  table.real("rope-base", model.rope_base, "of rope's angles").above(1);
  table.count("max-positions", options.max_positions, "rows of the learned table")
      .default_is("--seq-len");
  yes_no_option(table, "tie-embeddings", model.tie_embeddings, "the head is the token table");
  yes_no_option(table, "bias", model.bias, "in the projections of attention and MLP");
  yes_no_option(table, "head-bias", model.head_bias, "in an untied head");
}

void refuse_idle_options(const cli::OptionTable& table, const ModelOptions& options) {
  const ModelConfig& model = options.config;
  const auto refuse = [&table](const char* name, const std::string& wanted) {
    if (table.given(name)) throw UsageError(fmt::format("--{} is only for {}", name, wanted));
  };
  if (model.position != Position::kRope) {
    refuse("rope-style", "--position rope");
    refuse("rope-base", "--position rope");
  }
  if (model.position != Position::kLearned) refuse("max-positions", "--position learned");
  // A tied head has no bias to leave out, so "no" states a fact.
  if (model.tie_embeddings && model.head_bias) {
    refuse("head-bias", "a head of its own: --tie-embeddings leaves none");
  }
}

ModelConfig model_config(const ModelOptions& options, Index vocab_size, Index seq_len) {
  ModelConfig config = options.config;
  config.vocab_size = vocab_size;
  config.seq_len = seq_len;
  config.kv_heads = options.kv_heads.value_or(0);
  config.head_dim = options.head_dim.value_or(0);
  config.mlp_hidden = options.mlp_hidden.value_or(0);
  if (options.max_positions || config.position == Position::kLearned) {
    config.max_positions = options.max_positions.value_or(config.seq_len);
  }
  config = config.completed();
  config.validate();
  return config;
}

}  // namespace attn
