#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/hdf5_writer.h"
#include "model/transformer.h"
#include "text/tokenizer.h"

namespace attn {

/// Who looks at whom: the attention weights of every block and head over one sequence.
struct AttentionMaps {
  Tensor<float> weights;            // (block, head, query, key), hidden keys exactly 0
  std::vector<std::string> tokens;  // (query) what stands for each token, printable
  /// (query, key): 1 where the mask hides the key. Its weight is exactly 0, but so may be that of
  /// a key that is merely unimportant.
  Tensor<std::uint8_t> hidden;

  Index blocks() const { return weights.dim(0); }
  Index heads() const { return weights.dim(1); }
  /// One head's map (query, key).
  Matrix<const float> map(Index block, Index head) const;
};

/// One pass of a decoder or an encoder over the ids. Throws UsageError for a model of two stacks,
/// ShapeError for no ids and beyond the model's longest sequence.
AttentionMaps attention_maps(const Transformer<float>& model, std::span<const Index> ids,
                             const Tokenizer& tokenizer, int threads);

/// Writes
///   /attention    (block, head, query, key) float32
///   /hidden       (query, key) uint8, 1 where the mask hides the key
///   /query_token, /key_token   text of each token
/// with the numbers of blocks, heads, queries and keys as dimension scales of the same names.
void write_attention_maps(Hdf5Writer& writer, const AttentionMaps& maps);

}  // namespace attn
