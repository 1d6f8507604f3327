#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/transformer.h"
#include "text/tokenizer.h"

namespace attn {

/// One pass of any model over one sequence, looked at through `probe`; source is an
/// encoder-decoder's, else empty. Returns the logits (token, vocab_size), or (1, vocab_size) of the
/// last token. Throws ShapeError for no ids and beyond the model's longest sequence.
Tensor<float> looking_pass(const Transformer<float>& model, std::span<const Index> ids,
                           std::span<const Index> source, LogitRows which, Probe<float>& probe,
                           int threads);

/// What stands for each token, printable.
std::vector<std::string> labels_of(std::span<const Index> ids, const Tokenizer& tokenizer);

}  // namespace attn
