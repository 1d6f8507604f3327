#pragma once

#include <functional>
#include <span>

#include "model/transformer.h"

namespace attn {

/// How well a decoder foretells a text.
struct Score {
  double loss_sum = 0;  // nats, over all targets
  Index targets = 0;    // tokens foretold
  Index window = 0;     // tokens that are read together
  Index windows = 0;

  /// Mean -ln p of a token, in nats.
  double loss() const;
  /// e^loss: among how many equally likely tokens the model was choosing, on average.
  double perplexity() const;
  /// The same loss for each of `units` (characters, bytes) that the targets stand for, in bits.
  double bits_per(Index units) const;
};

/// The window of a model that nobody chose one for: the length it was trained on, else its
/// positions, else 512; never more than its longest sequence.
Index usual_window(const ModelConfig& config);

/// The end of the tokens, from the place int((1 - share) n) on: where others cut a text in two.
std::span<const Index> last_share(std::span<const Index> ids, double share);

/// How a text is read: cut into windows that do not overlap, one after another, each token foretold
/// by those of its window before it. Window i reads the tokens i w .. i w + w - 1 and foretells
/// i w + 1 .. i w + w, so that each token but the first is foretold once; what is left over at the
/// end (less than a window) is not counted. Fewer tokens than a window and its next make one
/// shorter window. The loss is 0 yet. Throws UsageError for fewer than 2 tokens, ids outside the
/// vocabulary, a window below 1 and one beyond a learned table.
Score cut_into_windows(const ModelConfig& config, std::span<const Index> ids, Index window);

/// Cuts the tokens into windows and asks a decoder for each next token. The sum is the same for any
/// number of threads. Throws as cut_into_windows(); DataError where the model's logits are not
/// finite, and where those of a window need more memory than there is. `progress` hears, one call
/// at a time but from any thread, how many windows are over.
template <class T>
Score score_tokens(const Transformer<T>& model, std::span<const Index> ids, Index window,
                   int threads, const std::function<void(Index windows)>& progress = {});

}  // namespace attn
