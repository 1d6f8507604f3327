#include <fmt/core.h>

#include <algorithm>

#include "core/error.h"
#include "model/model_config.h"

// Sizes by closed form, so that --dry-run of any shape takes no memory; a test holds them to the
// parameters of real models.

namespace attn {
namespace {

// A count that remembers having left 63 bits.
class Count {
 public:
  Count(Index value) : value_(value) {}  // NOLINT: numbers read as counts
  friend Count operator*(const Count& a, const Count& b) {
    return a.value_ && b.value_ ? Count(checked_mul(*a.value_, *b.value_)) : Count(std::nullopt);
  }
  friend Count operator+(const Count& a, const Count& b) {
    return a.value_ && b.value_ ? Count(checked_add(*a.value_, *b.value_)) : Count(std::nullopt);
  }
  Index get() const {
    if (!value_) throw UsageError("the model's size leaves 63 bits");
    return *value_;
  }

 private:
  explicit Count(std::optional<Index> value) : value_(value) {}
  std::optional<Index> value_;
};

Count linear(const Count& in, const Count& out, bool bias) {
  return in * out + (bias ? out : Count(0));
}

struct BlockCounts {
  Count attention = 0;
  Count mlp = 0;
  Count norms = 0;
};

Count norm_numbers(const ModelConfig& c) {
  return Count(c.dim) * Count(c.norm_type == NormType::kLayerNorm && c.norm_bias ? 2 : 1);
}

BlockCounts one_block(const ModelConfig& c, bool cross) {
  const Count q_dim = Count(c.heads) * Count(c.head_dim);
  const Count kv_dim = Count(c.kv_heads) * Count(c.head_dim);
  const Count attention = linear(c.dim, q_dim, c.bias) + Count(2) * linear(c.dim, kv_dim, c.bias) +
                          linear(q_dim, c.dim, *c.out_bias);
  const Count mlp = Count(c.activation == MlpActivation::kSwiglu ? 2 : 1) *
                        linear(c.dim, c.mlp_hidden, *c.mlp_bias) +
                    linear(c.mlp_hidden, c.dim, *c.mlp_bias);
  return {attention * Count(cross ? 2 : 1), mlp, norm_numbers(c) * Count(cross ? 3 : 2)};
}

}  // namespace

ParameterCounts count_parameters(const ModelConfig& config) {
  const ModelConfig c = config.completed();
  const bool both = c.arch == Arch::kEncoderDecoder;
  const BlockCounts block = one_block(c, both);
  const BlockCounts encoder = one_block(c, false);
  const Count encoder_depth = both ? c.encoder_depth : 0;
  const Count stacks = both ? 2 : 1;

  const Count tokens = (Count(c.vocab_size) + Count(both ? c.source_vocab_size : 0)) * Count(c.dim);
  const Count positions =
      c.position == Position::kLearned ? stacks * Count(c.max_positions) * Count(c.dim) : Count(0);
  const Count attention = block.attention * Count(c.depth) + encoder.attention * encoder_depth;
  const Count mlp = block.mlp * Count(c.depth) + encoder.mlp * encoder_depth;
  const Count norms = block.norms * Count(c.depth) + encoder.norms * encoder_depth +
                      (*c.final_norm ? stacks * norm_numbers(c) : Count(0));
  const Count head = c.tie_embeddings ? Count(0) : linear(c.dim, c.vocab_size, c.head_bias);

  ParameterCounts counts;
  counts.tokens = tokens.get();
  counts.positions = positions.get();
  counts.attention = attention.get();
  counts.mlp = mlp.get();
  counts.norms = norms.get();
  counts.head = head.get();
  counts.block = (block.attention + block.mlp + block.norms).get();
  counts.total = (tokens + positions + attention + mlp + norms + head).get();
  return counts;
}

double forward_flops_per_token(const ModelConfig& config, Index seq_len, Index source_len) {
  ModelConfig c = config.completed();
  // Biases multiply nothing, a tied head as much as its own.
  c.bias = c.head_bias = c.tie_embeddings = false;
  c.out_bias = c.mlp_bias = false;
  const ParameterCounts counts = count_parameters(c);
  const auto real = [](const Count& count) { return static_cast<double>(count.get()); };
  const double head = static_cast<double>(counts.head);
  const double self = real(one_block(c, false).attention);
  const double mlp = real(one_block(c, false).mlp);
  const double see_a_key = 4 * static_cast<double>(c.heads) * static_cast<double>(c.head_dim);
  const auto depth = static_cast<double>(c.depth);
  const auto tokens = static_cast<double>(seq_len);
  const double alone = depth * (2 * (self + mlp) + see_a_key * tokens) + 2 * head;
  if (c.arch != Arch::kEncoderDecoder) return alone;
  const auto source = static_cast<double>(source_len);
  const double keys_and_values = 2 * real(Count(c.dim) * Count(c.kv_heads) * Count(c.head_dim));
  const double crossing = depth * (2 * (self - keys_and_values) + see_a_key * source);
  const double of_source_token =
      static_cast<double>(c.encoder_depth) * (2 * (self + mlp) + see_a_key * source) +
      depth * 2 * keys_and_values;
  return alone + crossing + of_source_token * source / tokens;
}

Index activation_bytes(const ModelConfig& config, Index seq_len, Index source_len) {
  const ModelConfig c = config.completed();
  const bool both = c.arch == Arch::kEncoderDecoder;
  const Count q_dim = Count(c.heads) * Count(c.head_dim);
  const Count kv_dim = Count(c.kv_heads) * Count(c.head_dim);
  const auto per_row = [&](bool cross) {
    // Norm outputs and residuals; q and mixed, k and v; the MLP's inner rows.
    const Count attentions = cross ? 2 : 1;
    const Count residual = Count(2) * (attentions + Count(1)) * Count(c.dim);
    const Count attention = attentions * (Count(2) * q_dim + Count(c.heads)) + Count(2) * kv_dim;
    const Count mlp = Count(c.activation == MlpActivation::kSwiglu ? 3 : 2) * Count(c.mlp_hidden);
    return residual + attention + mlp;
  };
  const Count row = per_row(both) * Count(c.depth) + Count(2) * Count(c.dim) + Count(c.vocab_size);
  // Of the source: the encoder's blocks, and its keys and values in each block of the decoder.
  const Count source_row = per_row(false) * Count(both ? c.encoder_depth : 0) +
                           Count(2) * kv_dim * Count(c.depth) + Count(2) * Count(c.dim);
  return ((row * Count(seq_len) + source_row * Count(source_len)) * Count(4)).get();
}

TrainingMemory training_memory(const ModelConfig& config, Index seq_len, Index batch, int threads,
                               Index source_len) {
  const Count parameters = Count(count_parameters(config).total) * Count(4);
  const Index chunk = std::min(chunk_sequences(config, seq_len, source_len), batch);
  const Count chunks = (batch + chunk - 1) / chunk;
  const Index workers = std::min<Index>(std::max(threads, 1), chunks.get());
  const Count gradients = parameters * Count(workers + 1);
  const Count activations =
      Count(activation_bytes(config, seq_len, source_len)) * Count(chunk * workers);
  TrainingMemory memory;
  memory.parameters = parameters.get();
  memory.optimizer = (parameters * Count(2)).get();
  memory.gradients = gradients.get();
  memory.activations = activations.get();
  memory.total = (parameters * Count(3) + gradients + activations).get();
  return memory;
}

Index chunk_sequences(const ModelConfig& config, Index seq_len, Index source_len) {
  constexpr Index kChunkBytes = Index{9} << 18;
  // Parameters that no cache of a core holds are read, and their gradients cleared and added, once
  // a chunk: that is repaid by tokens.
  constexpr Index kManyParameterBytes = Index{1} << 22;
  constexpr Index kChunkTokens = 512;
  const Index each = std::max<Index>(1, activation_bytes(config, seq_len, source_len));
  const Index parameter_bytes = (Count(count_parameters(config).total) * Count(4)).get();
  const auto fits = [&](Index sequences) {
    return sequences <= kChunkBytes / each || (parameter_bytes > kManyParameterBytes &&
                                               sequences <= kChunkTokens / (seq_len + source_len));
  };
  Index sequences = 1;
  while (fits(2 * sequences)) sequences *= 2;
  return sequences;
}

}  // namespace attn
