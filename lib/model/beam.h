#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "model/decoding.h"

namespace attn {

struct BeamSettings : FeedSettings {
  Index width = 4;  // hypotheses that are kept; fewer as long as there are no more
  /// A hypothesis of L new tokens, the final EOS among them, scores log_prob / L^length_penalty: 0
  /// is the sum, which favours short ones, 1 the mean.
  double length_penalty = 1;
  std::optional<Index> eos;          // the token that ends a hypothesis
  std::vector<Index> stop_ids = {};  // tokens that end it too
  bool keep_rounds = false;          // tell BeamResult::rounds, which grow as new_tokens squared
};

/// A continuation and what it is worth.
struct Hypothesis {
  std::vector<Index> tokens;      // the new ones, up to the one that ended it and with it
  std::vector<double> log_probs;  // of each token: ln softmax of the model's logits
  double log_prob = 0;            // their sum, added up from the first on
  double score = 0;
  Finish finish = Finish::kLength;

  bool finished() const { return finish != Finish::kLength; }
};

struct BeamResult {
  std::vector<Hypothesis> hypotheses;  // the last pool, best first
  /// The pool after each round, best first; empty unless they were asked for.
  std::vector<std::vector<Hypothesis>> rounds;
  /// The least gap of scores by which a hypothesis was ranked above the next, or kept.
  double smallest_lead = std::numeric_limits<double>::infinity();
  KeyRowCounts counts;    // of all hypotheses together
  Index cache_bytes = 0;  // the most that there were
};

/// Searches for likely continuations. The pool begins with the bare prompt at log-probability 0.
/// Each round keeps every finished hypothesis as it is, replaces every other by its continuations
/// with all tokens, ranks them by score (of equals the one of the better parent first, then of the
/// lower token) and keeps the best `width`. It ends after new_tokens rounds or when all are
/// finished. All that go on are fed together. source: an encoder-decoder's, else null. Throws as
/// generate(), and UsageError for a width below 1 and a penalty that is not finite.
template <class T>
BeamResult search_beams(const Transformer<T>& model, const SourceTokens* source,
                        std::span<const Index> prompt, const BeamSettings& settings);

}  // namespace attn
