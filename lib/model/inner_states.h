#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "io/hdf5_writer.h"
#include "model/transformer.h"
#include "text/tokenizer.h"

namespace attn {

/// What a model computes on its way, over one sequence.
struct InnerStates {
  Tensor<float> logits;  // (token, vocab_size): after each token
  /// "embedding" (with positions), "blocks.0" (a block's output), "norm" -> (token, dim); of an
  /// encoder-decoder "encoder.embedding", "decoder.blocks.0" and so on.
  std::map<std::string, Tensor<float>, std::less<>> hidden;
  std::vector<std::string> tokens;         // what stands for each, printable
  std::vector<std::string> source_tokens;  // of an encoder-decoder
};

/// One pass of any model. source and its tokenizer are an encoder-decoder's only, else empty and
/// null. Throws ShapeError for no ids and beyond the model's longest sequence.
InnerStates inner_states(const Transformer<float>& model, std::span<const Index> ids,
                         const Tokenizer& tokenizer, std::span<const Index> source,
                         const Tokenizer* source_tokenizer, int threads);

/// Writes /logits (token, vocab) with the text of each token, /token, as its first scale.
void write_logits(Hdf5Writer& writer, const InnerStates& states);

/// Writes /hidden/NAME (token, dim) for each of them, with the texts of the tokens, /token and of
/// an encoder-decoder's source /source_token, as their first scales.
void write_hidden(Hdf5Writer& writer, const InnerStates& states);

}  // namespace attn
