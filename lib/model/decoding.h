#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "model/decode_session.h"
#include "model/log_probability.h"
#include "model/sampling.h"

namespace attn {

/// What a decoder is fed with and how, whatever is then chosen. However it is fed, the logits are
/// the same but for rounding: within 1e-5 of the largest of them (tested over every configuration).
struct FeedSettings {
  Index new_tokens = 0;  // at most so many
  bool use_cache = true;
  Index window = 0;         // see SessionSettings
  Index prefill_chunk = 0;  // see SessionSettings
  KvLayout layout = {};     // of the cache
  int threads = 1;
};

struct GenerationSettings : FeedSettings {
  Index samples = 1;                 // continuations of the prompt, which is read once
  std::optional<Index> eos;          // the token that ends a sequence
  std::vector<Index> stop_ids = {};  // tokens that end it too
  SamplingSettings sampling;         // its `sample` is that of the first one
  Index alternatives = 0;            // log-probabilities that are told of the likeliest tokens
  /// Called with every token as it is chosen, EOS too; false ends that sample.
  std::function<bool(Index sample, Index token)> on_token;
};

/// Why a sequence ended: its last token is EOS or one of stop_ids, on_token said so, or it has as
/// many tokens as were wanted.
enum class Finish { kEos, kStopToken, kStopped, kLength };

struct Generation {
  std::vector<Index> tokens;  // the new ones only, up to the one that ended them and with it
  /// Of each token: ln softmax of the model's own logits, whatever the penalty and temperature.
  std::vector<double> log_probs;
  /// Of each token: the likeliest tokens by the same measure, best first.
  std::vector<std::vector<TokenLogProbability>> alternatives;
  Finish finish = Finish::kLength;
  /// The least margin by which a token was chosen: greedy, of its logit over the second; drawn, see
  /// NextToken::margin. Where it exceeds twice the rounding of the logits (over the temperature)
  /// the tokens do not depend on how they were computed.
  double smallest_lead = std::numeric_limits<double>::infinity();
  /// For a prompt of P and N new tokens, a self-attention that reads them projects P + N - 1 rows
  /// with a cache (P + S (N - 1) for S samples), N P + N (N - 1) / 2 without. Over a source of R
  /// rows, each attention of the encoder and each cross-attention projects R rows with a cache, N R
  /// without. Of all samples of the prompt together.
  KeyRowCounts counts;
  Index cache_bytes = 0;  // of all samples
};

/// Most tokens that may follow a prompt of this length; nothing where positions have no bound. A
/// learned table has a row for each token that is read, and the last new one is not. `window` as in
/// SessionSettings.
std::optional<Index> longest_continuation(const ModelConfig& config, Index prompt_length,
                                          Index window = 0);

/// Throws UsageError for an empty prompt, for ids outside the vocabulary, a window beyond a learned
/// table, and where prompt and new tokens pass the model's longest sequence (naming both numbers);
/// of an encoder-decoder's source (else null) for an empty one, and one beyond the learned table.
void check_feed(const ModelConfig& config, const SourceTokens* source,
                std::span<const Index> prompt, const FeedSettings& settings);

/// A session for the prompt and all new tokens but the last, which nothing comes after. source: an
/// encoder-decoder's, else null. Throws as check_feed.
template <class T>
DecodeSession<T> begin_session(const Transformer<T>& model, const SourceTokens* source,
                               std::span<const Index> prompt, const FeedSettings& settings);

/// Continues a prompt with a decoder. Throws UsageError as check_feed and for settings out of
/// range, DataError for logits that are not finite.
template <class T>
Generation generate(const Transformer<T>& model, std::span<const Index> prompt,
                    const GenerationSettings& settings);

/// Answers a source with an encoder-decoder, whose decoder begins with the prompt (usually BOS
/// alone). Throws UsageError as above, for an empty source, and for one beyond the learned table.
template <class T>
Generation generate(const Transformer<T>& model, const SourceTokens& source,
                    std::span<const Index> prompt, const GenerationSettings& settings);

/// settings.samples continuations from one reading of the prompt, which go through the model
/// together. Sample i is what generate() makes with sampling.sample i more, to the rounding of the
/// logits. source: an encoder-decoder's, else null.
template <class T>
std::vector<Generation> generate_samples(const Transformer<T>& model, const SourceTokens* source,
                                         std::span<const Index> prompt,
                                         const GenerationSettings& settings);

}  // namespace attn
