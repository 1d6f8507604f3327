#include "model-options.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.h"
#include "enum-option.h"

namespace attn {
namespace {

template <class Field>
cli::Option& yes_no_option(cli::OptionTable& table, const std::string& name, Field& field,
                           const std::string& help) {
  return table.choice(name, field,
                      std::vector<std::pair<std::string, bool>>{
                          {"1", true}, {"0", false}, {"yes", true}, {"no", false}},
                      help);
}

std::optional<Index> unless_zero(Index value) {
  return value == 0 ? std::nullopt : std::optional<Index>(value);
}

}  // namespace

void declare_model(cli::OptionTable& table, ModelOptions& options) {
  ModelConfig& model = options.config;
  table.group("Model");
  enum_option<Arch>(table, "arch", options.arch, "one stack, causal or not, or two")
      .default_is("the task's");
  table.count("vocab-size", options.vocab_size, "tokens there are, for -i and for --dry-run")
      .default_is("what the data have");
  table
      .count("source-vocab-size", options.source_vocab_size,
             "tokens an encoder-decoder reads, for --dry-run")
      .default_is("what the data have");
  table.count("dim", options.dim, "width of a token's row").default_is("64");
  table.count("heads", model.heads, "query heads");
  table.count("kv-heads", options.kv_heads, "key-value heads, a divisor of --heads")
      .default_is("as --heads");
  table.count("head-dim", options.head_dim, "features of a head").default_is("--dim / --heads");
  table.count("depth", options.depth, "blocks; of an encoder-decoder its decoder's")
      .default_is("2");
  table.count("encoder-depth", options.encoder_depth, "blocks of an encoder-decoder's encoder")
      .default_is("as --depth");
  declare_model_parts(table, options, "--seq-len");
}

void declare_model_parts(cli::OptionTable& table, ModelOptions& options,
                         const std::string& longest) {
  ModelConfig& model = options.config;
  table.count("mlp-hidden", options.mlp_hidden, "width inside the MLP").default_is("4 x --dim");
  enum_option<MlpActivation>(table, "activation", model.activation, "of the MLP");
  enum_option<NormPlacement>(table, "norm", model.norm,
                             "before each sublayer, or after each residual");
  yes_no_option(table, "final-norm", model.final_norm, "a norm after the last block")
      .default_is("yes with --norm pre");
  enum_option<NormType>(table, "norm-type", model.norm_type, "layer norm, or RMS norm");
  yes_no_option(table, "norm-bias", model.norm_bias, "in layer norms");
  table.real("norm-eps", model.norm_eps, "added to the variance").above(0);
  enum_option<Position>(table, "position", model.position, "how order is told");
  enum_option<RopePairs>(table, "rope-style", model.rope_style,
                         "which features rope turns together");
  table.real("rope-base", model.rope_base, "of rope's angles").above(1);
  table.count("max-positions", options.max_positions, "rows of the learned table")
      .default_is(longest);
  yes_no_option(table, "tie-embeddings", model.tie_embeddings, "the head is the token table");
  yes_no_option(table, "bias", model.bias, "in the projections of attention and MLP");
  yes_no_option(table, "head-bias", model.head_bias, "in an untied head");
}

ModelOptions stated(const ModelConfig& config) {
  ModelOptions options;
  options.config = config;
  options.arch = config.arch;
  options.vocab_size = unless_zero(config.vocab_size);
  options.source_vocab_size = unless_zero(config.source_vocab_size);
  options.dim = config.dim;
  options.depth = config.depth;
  options.encoder_depth = unless_zero(config.encoder_depth);
  options.kv_heads = unless_zero(config.kv_heads);
  options.head_dim = unless_zero(config.head_dim);
  options.mlp_hidden = unless_zero(config.mlp_hidden);
  options.max_positions = unless_zero(config.max_positions);
  return options;
}

void refuse_idle_options(const cli::Session& session, const ModelOptions& options, Arch arch) {
  const auto given = [&session](const char* name) { return session.given(name); };
  refuse_idle_parts(given, options);
  if (arch == Arch::kEncoderDecoder) return;
  for (const char* name : {"encoder-depth", "source-vocab-size"}) {
    if (given(name)) throw UsageError(fmt::format("--{} is only for --arch encoder-decoder", name));
  }
}

void refuse_idle_parts(const std::function<bool(const char*)>& given, const ModelOptions& options) {
  const ModelConfig& model = options.config;
  const auto refuse = [&given](const char* name, const std::string& wanted) {
    if (given(name)) throw UsageError(fmt::format("--{} is only for {}", name, wanted));
  };
  if (model.position != Position::kRope) {
    refuse("rope-style", "--position rope");
    refuse("rope-base", "--position rope");
  }
  if (model.position != Position::kLearned) refuse("max-positions", "--position learned");
  // What a model has none of may be left out in words: "no" states a fact.
  if (model.tie_embeddings && model.head_bias) {
    refuse("head-bias", "a head of its own: --tie-embeddings leaves none");
  }
  if (model.norm_type == NormType::kRmsNorm && model.norm_bias) {
    refuse("norm-bias", "--norm-type layernorm");
  }
}

ModelConfig model_config(const ModelOptions& options, const ModelNeeds& needs) {
  ModelConfig config = options.config;
  const bool both = needs.arch == Arch::kEncoderDecoder;
  config.arch = needs.arch;
  config.vocab_size = needs.vocab_size;
  config.source_vocab_size = both ? needs.source_vocab_size : 0;
  config.seq_len = needs.seq_len;
  config.dim = options.dim.value_or(needs.dim);
  config.depth = options.depth.value_or(needs.depth);
  config.encoder_depth = both ? options.encoder_depth.value_or(config.depth) : 0;
  config.kv_heads = options.kv_heads.value_or(0);
  config.head_dim = options.head_dim.value_or(0);
  config.mlp_hidden = options.mlp_hidden.value_or(0);
  config.max_positions = options.max_positions.value_or(
      config.position == Position::kLearned ? std::max(needs.seq_len, needs.source_len) : 0);
  config = config.completed();
  config.validate();
  return config;
}

}  // namespace attn
