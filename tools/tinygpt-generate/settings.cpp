#include "tinygpt-generate/settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/memory.h"

namespace attn {
namespace {

// Bytes of the cached keys and values of all sequences of one prompt, while they fork, of what is
// known of each token, and of the logits; what else a pass holds is less.
double bytes_of_decoding(const Options& options, const ModelConfig& config,
                         const std::vector<Sequence>& sequences) {
  std::size_t longest = 0;
  for (const Sequence& sequence : sequences) longest = std::max(longest, sequence.ids.size());
  const auto added = static_cast<double>(options.new_tokens.value_or(kNewTokens));
  double tokens = static_cast<double>(longest) + added;
  double together = static_cast<double>(continuations(options));
  if (options.beams > 0) {  // never more than there are continuations; samples may be the same
    const double most = std::pow(static_cast<double>(config.vocab_size), std::min(added, 64.0));
    together = std::min(together, most);
  }
  constexpr double kRecord = 256;  // of a sequence
  // The pass's own, and the copy that is chosen from.
  const double logits = 2.0 * sizeof(float) * static_cast<double>(config.vocab_size);
  const double known = together * (tokens * 4.0 * sizeof(Index) + kRecord + logits);
  if (options.cache == Options::Cache::kNone) return known;
  const double slots = together > 1 ? 2 : 1;
  const Index key_width = config.depth * config.kv_heads * config.head_dim;
  if (options.window > 0) tokens = std::min(tokens, static_cast<double>(options.window));
  if (const auto bound = config.longest_sequence()) {
    tokens = std::min(tokens, static_cast<double>(*bound));
  }
  return known + slots * together * tokens * 2.0 * sizeof(float) * static_cast<double>(key_width);
}

}  // namespace

std::vector<Index> first_tokens(const Sequence& sequence, const Language& language) {
  if (language.arch == Arch::kEncoderDecoder) return {*language.specials.bos};
  return sequence.ids;
}

SamplingSettings sampling_settings(const Options& options, const ModelConfig& config,
                                   const cli::Session& session) {
  SamplingSettings sampling = options.sampling;
  sampling.seed = static_cast<std::uint64_t>(options.seed);
  if (sampling.top_k > config.vocab_size) {
    session.note(fmt::format("--top-k {} is more than the vocabulary: all {} tokens are kept",
                             sampling.top_k, config.vocab_size));
  }
  for (const char* option : {"top-k", "top-p", "min-p"}) {
    if (sampling.greedy() && session.given(option)) {
      session.note(
          fmt::format("--{} changes nothing at temperature 0: the largest logit is taken", option));
    }
  }
  if (sampling.greedy() && options.samples > 1) {
    session.note("samples at temperature 0 are all the same");
  }
  return sampling;
}

Index new_tokens(const Options& options, const ModelConfig& config, Index prompt_length) {
  if (options.new_tokens) return *options.new_tokens;
  const Index room =
      longest_continuation(config, prompt_length, options.window).value_or(kNewTokens);
  return room >= 1 ? std::min(room, kNewTokens) : kNewTokens;  // without room it is refused
}

FeedSettings feed_settings(const Options& options) {
  FeedSettings feed;
  feed.use_cache = options.cache != Options::Cache::kNone;
  if (options.cache == Options::Cache::kPaged) feed.layout.page_size = options.page_size;
  feed.window = options.window;
  feed.prefill_chunk = options.prefill_chunk;
  feed.threads = static_cast<int>(options.threads);
  return feed;
}

Index continuations(const Options& options) {
  return options.beams > 0 ? options.beams : options.samples;
}

void check_decoding(const Options& options, const ModelConfig& config,
                    const std::vector<Sequence>& sequences) {
  for (const Index id : options.stop_ids) {
    if (id >= config.vocab_size) {
      throw UsageError(fmt::format("--stop-ids {} is not in the vocabulary: 0 to {}", id,
                                   config.vocab_size - 1));
    }
  }
  // What a learned table bounds is small, and has a better word for what is beyond it.
  if (!config.longest_sequence() || continuations(options) > 1) {
    require_memory("decoding", bytes_of_decoding(options, config, sequences));
  }
}

void note_length(const ModelConfig& config, Index read, Index length, const cli::Session& session) {
  if (config.seq_len == 0 || read <= config.seq_len || config.longest_sequence()) return;
  session.note(fmt::format("goes on to {} tokens, though the model was trained on {} at a time",
                           length, config.seq_len));
}

}  // namespace attn
