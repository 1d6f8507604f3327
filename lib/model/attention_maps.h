#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/hdf5_writer.h"
#include "model/transformer.h"
#include "text/tokenizer.h"

namespace attn {

/// Who looks at whom: the attention weights of one kind of attention, in every block and head, over
/// one sequence.
struct AttentionMaps {
  /// "" in a model of one stack; "encoder", "decoder" (its self-attention) or "cross".
  std::string part;
  /// Its name in each block: "decoder.blocks.*.cross_attn", the star for the block's number.
  std::string module;
  Tensor<float> weights;  // (block, head, query, key), hidden keys exactly 0
  /// What stands for each token, printable. The same in self-attention.
  std::vector<std::string> query_tokens, key_tokens;
  /// (query, key): 1 where the mask hides the key. Its weight is exactly 0, but so may be that of
  /// a key that is merely unimportant.
  Tensor<std::uint8_t> hidden;
  /// (block, head): see induction_score. Only of causal maps in whose sequence a token recurs.
  std::optional<Tensor<double>> induction;

  Index blocks() const { return weights.dim(0); }
  Index heads() const { return weights.dim(1); }
  /// One head's map (query, key).
  Matrix<const float> map(Index block, Index head) const;
};

/// One pass of a decoder or an encoder over the ids: its one kind of attention. Throws ShapeError
/// for no ids and beyond the model's longest sequence.
AttentionMaps attention_maps(const Transformer<float>& model, std::span<const Index> ids,
                             const Tokenizer& tokenizer, int threads);

/// One pass of any model: one kind of attention, or of an encoder-decoder three: the encoder's, the
/// decoder's own, and from the decoder's tokens to the source's. `source` and its tokenizer are an
/// encoder-decoder's only, else empty and null.
std::vector<AttentionMaps> attention_maps(const Transformer<float>& model,
                                          std::span<const Index> ids, const Tokenizer& tokenizer,
                                          std::span<const Index> source,
                                          const Tokenizer* source_tokenizer, int threads);

/// Writes for a model of one stack
///   /attention    (block, head, query, key) float32; its attribute `module` says whose
///   /hidden       (query, key) uint8, 1 where the mask hides the key
///   /query_token, /key_token   text of each token
///   /induction    (block, head) float64, where there are such scores
/// with the numbers of blocks, heads, queries and keys as dimension scales of the same names; for
/// an encoder-decoder the same in groups /encoder, /decoder and /cross.
void write_attention_maps(Hdf5Writer& writer, const AttentionMaps& maps);

}  // namespace attn
