#include "model/model_config.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace attn {
namespace {

template <class Enum>
using Names = std::vector<std::pair<Enum, const char*>>;

const Names<Arch>& names(Arch) {
  static const Names<Arch> table = {{Arch::kDecoder, "decoder"},
                                    {Arch::kEncoder, "encoder"},
                                    {Arch::kEncoderDecoder, "encoder_decoder"}};
  return table;
}

const Names<Position>& names(Position) {
  static const Names<Position> table = {{Position::kSinusoidal, "sinusoidal"},
                                        {Position::kLearned, "learned"},
                                        {Position::kRope, "rope"},
                                        {Position::kAlibi, "alibi"},
                                        {Position::kNone, "none"}};
  return table;
}

const Names<NormPlacement>& names(NormPlacement) {
  static const Names<NormPlacement> table = {{NormPlacement::kPre, "pre"},
                                             {NormPlacement::kPost, "post"}};
  return table;
}

const Names<NormType>& names(NormType) {
  static const Names<NormType> table = {{NormType::kLayerNorm, "layernorm"},
                                        {NormType::kRmsNorm, "rmsnorm"}};
  return table;
}

const Names<MlpActivation>& names(MlpActivation) {
  static const Names<MlpActivation> table = {{MlpActivation::kGelu, "gelu"},
                                             {MlpActivation::kGeluTanh, "gelu_tanh"},
                                             {MlpActivation::kRelu, "relu"},
                                             {MlpActivation::kSwiglu, "swiglu"}};
  return table;
}

const Names<RopePairs>& names(RopePairs) {
  static const Names<RopePairs> table = {{RopePairs::kHalves, "half_split"},
                                         {RopePairs::kInterleaved, "interleaved"}};
  return table;
}

const Names<InitScheme>& names(InitScheme) {
  static const Names<InitScheme> table = {{InitScheme::kPyTorch, "pytorch"},
                                          {InitScheme::kGpt2, "gpt2"},
                                          {InitScheme::kXavier, "xavier"}};
  return table;
}

void at_least_1(const char* option, Index value) {
  if (value < 1) throw UsageError(fmt::format("{} must be at least 1: got {}", option, value));
}

void positive(const char* option, double value) {
  if (!std::isfinite(value) || value <= 0) {
    throw UsageError(fmt::format("{} must be a number above 0: got {}", option, value));
  }
}

}  // namespace

template <class Enum>
std::vector<std::string> enum_names() {
  std::vector<std::string> all;
  for (const auto& entry : names(Enum{})) all.emplace_back(entry.second);
  return all;
}

template <class Enum>
std::string enum_name(Enum value) {
  for (const auto& entry : names(Enum{})) {
    if (entry.first == value) return entry.second;
  }
  throw ShapeError("enum_name: no such value");
}

template <class Enum>
std::optional<Enum> parse_enum(std::string_view name) {
  std::string wanted(name);
  for (char& letter : wanted) letter = letter == '-' ? '_' : letter;
  for (const auto& entry : names(Enum{})) {
    if (wanted == entry.second) return entry.first;
  }
  return std::nullopt;
}

#define ATTN_NAMED_ENUM(Enum)                           \
  template std::vector<std::string> enum_names<Enum>(); \
  template std::string enum_name<Enum>(Enum);           \
  template std::optional<Enum> parse_enum<Enum>(std::string_view)
ATTN_NAMED_ENUM(Arch);
ATTN_NAMED_ENUM(Position);
ATTN_NAMED_ENUM(NormPlacement);
ATTN_NAMED_ENUM(NormType);
ATTN_NAMED_ENUM(MlpActivation);
ATTN_NAMED_ENUM(RopePairs);
ATTN_NAMED_ENUM(InitScheme);
#undef ATTN_NAMED_ENUM

ModelConfig ModelConfig::completed() const {
  // So that counting the parameters refuses a width whose MLP cannot be counted.
  constexpr Index kNoSuchWidth = std::numeric_limits<Index>::max();
  ModelConfig full = *this;
  if (full.kv_heads == 0) full.kv_heads = heads;
  if (full.head_dim == 0 && heads >= 1 && dim % heads == 0) full.head_dim = dim / heads;
  if (full.mlp_hidden == 0) full.mlp_hidden = checked_mul(4, dim).value_or(kNoSuchWidth);
  if (arch == Arch::kEncoderDecoder) {
    if (full.source_vocab_size == 0) full.source_vocab_size = vocab_size;
    if (full.encoder_depth == 0) full.encoder_depth = depth;
  }
  if (!full.out_bias) full.out_bias = bias;
  if (!full.mlp_bias) full.mlp_bias = bias;
  if (!full.final_norm) full.final_norm = norm == NormPlacement::kPre;
  return full;
}

void ModelConfig::validate() const {
  at_least_1("--vocab-size", vocab_size);
  at_least_1("--dim", dim);
  at_least_1("--heads", heads);
  at_least_1("--kv-heads", kv_heads);
  at_least_1("--depth", depth);
  if (heads % kv_heads != 0) {
    throw UsageError(
        fmt::format("--kv-heads must divide --heads: {} does not divide {}", kv_heads, heads));
  }
  if (head_dim == 0) {
    throw UsageError(fmt::format(
        "--heads must divide --dim where --head-dim is not given: {} does not divide {}", heads,
        dim));
  }
  at_least_1("--head-dim", head_dim);
  at_least_1("--mlp-hidden", mlp_hidden);
  if (arch == Arch::kEncoderDecoder) {
    at_least_1("--source-vocab-size", source_vocab_size);
    at_least_1("--encoder-depth", encoder_depth);
  }
  positive("--norm-eps", norm_eps);
  if (seq_len < 0) throw UsageError(fmt::format("--seq-len must not be negative: got {}", seq_len));
  if (window < 0 || (window > 0 && arch != Arch::kDecoder)) {
    throw UsageError(fmt::format("--window is of a decoder, and not negative: got {}", window));
  }
  switch (position) {
    case Position::kSinusoidal:
      if (dim % 2 != 0) {
        throw UsageError(fmt::format("--position sinusoidal needs an even --dim: got {}", dim));
      }
      break;
    case Position::kLearned:
      if (max_positions < 1) {
        throw UsageError(fmt::format(
            "--position learned needs --max-positions of at least 1: got {}", max_positions));
      }
      if (max_positions < seq_len) {
        throw UsageError(
            fmt::format("--max-positions must reach --seq-len under --position learned: {} is less "
                        "than {}",
                        max_positions, seq_len));
      }
      break;
    case Position::kRope:
      positive("--rope-base", rope_base);
      if (head_dim % 2 != 0) {
        throw UsageError(fmt::format("--position rope needs an even --head-dim: got {}", head_dim));
      }
      if (const auto fault = rope_scaling_fault(head_dim, rope_base, rope_scaling)) {
        throw UsageError("rope scaling: " + *fault);
      }
      break;
    case Position::kAlibi:
    case Position::kNone:
      break;
  }
}

std::optional<Index> ModelConfig::longest_sequence() const {
  if (position == Position::kLearned) return max_positions;
  if (position == Position::kRope) return rope_scaling_limit(rope_scaling);
  return std::nullopt;
}

std::string ModelConfig::longest_sequence_reason() const {
  if (position == Position::kLearned) {
    return fmt::format("position learned: the table has {} rows (max_positions)", max_positions);
  }
  return fmt::format(
      "rope scaling {}: exact up to {} tokens (original_max_positions), beyond "
      "which earlier keys turn too",
      rope_scaling_name(rope_scaling.kind), rope_scaling.original_max_positions);
}

BlockConfig ModelConfig::block(bool causal, bool cross) const {
  BlockConfig made;
  made.attention.dim = dim;
  made.attention.heads = heads;
  made.attention.kv_heads = kv_heads;
  made.attention.head_dim = head_dim;
  made.attention.bias = bias;
  made.attention.out_bias = out_bias.value_or(bias);
  made.attention.causal = causal;
  made.attention.window = window;
  made.attention.alibi = position == Position::kAlibi;
  made.attention.rope_base = position == Position::kRope ? rope_base : 0;
  made.attention.rope_pairs = rope_style;
  made.attention.rope_scaling = rope_scaling;
  const Index blocks = arch == Arch::kEncoderDecoder && !cross ? encoder_depth : depth;
  made.attention.residual_additions = (cross ? 3 : 2) * blocks;
  made.cross = cross;
  made.mlp_hidden = mlp_hidden;
  made.mlp_bias = mlp_bias.value_or(bias);
  made.activation = activation;
  made.norm = norm;
  made.norm_type = norm_type;
  made.norm_eps = norm_eps;
  made.norm_bias = norm_bias;
  return made;
}

}  // namespace attn
