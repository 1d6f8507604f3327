#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nn/block.h"

namespace attn {

enum class Arch { kDecoder, kEncoder, kEncoderDecoder };

/// How a token's place is told. The first two are added to the embedding, rope turns queries and
/// keys, alibi lowers scores with distance.
enum class Position { kSinusoidal, kLearned, kRope, kAlibi, kNone };

/// Every number and switch of a transformer, under the names that files and options have.
/// Defaults are the tutorial's model: 10 tokens, width 64, 4 heads, 2 blocks.
struct ModelConfig {
  Arch arch = Arch::kDecoder;
  Index vocab_size = 10;
  Index source_vocab_size = 0;  // encoder-decoder only; 0: as vocab_size
  Index dim = 64;
  Index heads = 4;
  Index kv_heads = 0;       // 0: as heads
  Index head_dim = 0;       // 0: dim / heads
  Index depth = 2;          // blocks; of an encoder-decoder its decoder's
  Index encoder_depth = 0;  // encoder-decoder only; 0: as depth
  Index mlp_hidden = 0;     // 0: 4 * dim
  NormPlacement norm = NormPlacement::kPre;
  std::optional<bool> final_norm;  // unset: as usual, after pre-norm blocks only
  NormType norm_type = NormType::kLayerNorm;
  double norm_eps = 1e-5;
  Position position = Position::kSinusoidal;
  RopePairs rope_style = RopePairs::kHalves;  // of rope only
  double rope_base = 10000;
  RopeScaling rope_scaling = {};  // of rope only
  Index max_positions = 0;        // rows of the learned table, of each stack
  MlpActivation activation = MlpActivation::kGelu;
  bool tie_embeddings = false;   // the head multiplies by the token table; no head.*
  bool bias = true;              // projections of attention and MLP
  std::optional<bool> out_bias;  // of attention's out_proj; unset: as bias
  std::optional<bool> mlp_bias;  // of the MLP's projections; unset: as bias
  bool norm_bias = true;         // of layer norms; RMS norms have none
  bool head_bias = true;         // of an untied head
  Index seq_len = 0;             // tokens it was trained on at a time; 0: not known
  /// Keys that a token of a decoder sees, itself among them; 0: all. How a run reads the model, not
  /// part of checkpoints.
  Index window = 0;

  /// The same with the zeros and what is unset filled in.
  ModelConfig completed() const;

  /// Throws UsageError that names the options, for counts below 1, heads that do not divide, an odd
  /// head_dim under rope, learned positions without a table, and the like. Checks a completed
  /// configuration.
  void validate() const;

  /// Longest sequence the positions allow; nothing where there is no bound.
  std::optional<Index> longest_sequence() const;
  /// What bounds it, to begin a message: "position learned: the table has 12 rows (max_positions)".
  std::string longest_sequence_reason() const;

  /// What the blocks are made by, of the stack that is causal or not and crosses or not.
  BlockConfig block(bool causal, bool cross) const;

  bool operator==(const ModelConfig&) const = default;
};

/// The names of enumerators as files and options spell them ("half_split", "encoder_decoder"), and
/// back; there '-' and '_' are the same. Specialised for Arch, Position, NormPlacement, NormType,
/// MlpActivation, RopePairs and InitScheme.
template <class Enum>
std::vector<std::string> enum_names();
template <class Enum>
std::string enum_name(Enum value);
template <class Enum>
std::optional<Enum> parse_enum(std::string_view name);

/// Learned numbers by part.
struct ParameterCounts {
  Index tokens = 0;     // embedding tables
  Index positions = 0;  // learned positions
  Index attention = 0;  // projections of all blocks
  Index mlp = 0;        // of all blocks
  Index norms = 0;      // of all blocks, and the last ones
  Index head = 0;       // 0 where tied
  Index block = 0;      // one decoder block: attention, MLP and norms
  Index total = 0;
};

/// Exact, without building the model. Throws UsageError where a count leaves 63 bits.
ParameterCounts count_parameters(const ModelConfig& config);

/// Multiplications and additions of a forward pass, per token, at this sequence length: 2 for each
/// parameter of a matrix, and 4 * heads * head_dim for each key that an attention sees (Chowdhery
/// et al. 2022, arXiv:2204.02311, appendix B, without halving for the causal mask). Of an
/// encoder-decoder per token of the target, among which the work on the source (source_len tokens
/// per sequence) is shared out. Training takes three times as many.
double forward_flops_per_token(const ModelConfig& config, Index seq_len, Index source_len = 0);

/// Bytes of a training step.
struct TrainingMemory {
  Index parameters = 0;
  Index optimizer = 0;    // two moments
  Index gradients = 0;    // the sum's and each worker's
  Index activations = 0;  // one chunk for each worker
  Index total = 0;
};

/// With f32 numbers; source_len is an encoder-decoder's, as in what follows. Throws UsageError
/// where it leaves 63 bits.
TrainingMemory training_memory(const ModelConfig& config, Index seq_len, Index batch, int threads,
                               Index source_len = 0);

/// Bytes of f32 activations that one sequence leaves on the tape, roughly.
Index activation_bytes(const ModelConfig& config, Index seq_len, Index source_len = 0);

/// Sequences in one chunk of a training step: a power of two, into which batches are cut evenly for
/// most numbers of threads, and about 1 to 2 MiB of f32 activations where they allow it, or 512
/// tokens of a model whose parameters are more than the caches hold. Depends on the model's shape
/// and the sequence lengths alone, never on threads or the machine, because the rounding of a sum
/// over chunks depends on where they are cut.
Index chunk_sequences(const ModelConfig& config, Index seq_len, Index source_len = 0);

}  // namespace attn
