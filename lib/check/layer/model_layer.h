#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "check/layer/layer_case.h"
#include "model/transformer.h"

namespace attn {

/// One attention of a model.
struct BlockPlace {
  std::string stack;  // "", "encoder." or "decoder."
  Index block = 0;
  bool cross = false;

  /// "decoder.blocks.0.cross_attn"
  std::string module() const;
};

/// "0", "encoder.1", "decoder.0.cross", or the module's own name. In an encoder-decoder a bare
/// number is the decoder's. Throws UsageError for what the model does not have.
BlockPlace parse_block(std::string_view text, const ModelConfig& config);

/// A batch of tokens for a model.
struct BlockTokens {
  Tensor<Index> ids;                                // (batch, seq_len)
  Tensor<Index> source;                             // (batch, source_len), of an encoder-decoder
  std::vector<std::uint8_t> key_mask, source_mask;  // 1 for a token that counts; empty: all
};

/// The attention layer of a block with what it reads there.
struct ModelLayer {
  LayerCase layer;                      // nothing recorded
  std::optional<Tensor<double>> raw_x;  // before the norm, where the norms stand before
};

/// x is what the model's own pass in float64 hands to the block, through the norm before it where
/// there is one (computed here, without lib/nn's), rounded to float32.
ModelLayer model_layer(const Transformer<double>& model, const BlockPlace& place,
                       const BlockTokens& tokens);

}  // namespace attn
