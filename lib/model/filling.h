#pragma once

#include <span>
#include <vector>

#include "model/log_probability.h"
#include "model/sampling.h"
#include "model/transformer.h"

namespace attn {

struct FillSettings {
  Index mask = 0;  // the token that stands for one to be guessed
  SamplingSettings sampling;
  int threads = 1;
  Index alternatives = 0;  // log-probabilities that are told of the likeliest tokens
};

struct Filling {
  std::vector<Index> ids;         // the whole sequence, guesses in place of the masks
  std::vector<Index> places;      // where masks stood
  std::vector<double> log_probs;  // of each guess: ln softmax of the model's own logits
  /// Of each guess: the likeliest tokens by the same measure, best first.
  std::vector<std::vector<TokenLogProbability>> alternatives;
};

/// Guesses every masked token of a sequence with an encoder, each by itself, from one pass that
/// sees all masks (Devlin et al. 2018, arXiv:1810.04805). The mask is never its own answer.
/// Throws UsageError for no ids, ids outside the vocabulary, and a sequence beyond the learned
/// table.
template <class T>
Filling fill_masks(const Transformer<T>& model, std::span<const Index> ids,
                   const FillSettings& settings);

}  // namespace attn
