#include "tinygpt-generate/decode.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/error.h"
#include "core/memory.h"

namespace attn {
namespace {

// How many tokens a prompt may get, where nobody said: as many as there is room for.
Index new_tokens(const Options& options, const ModelConfig& config, Index prompt_length) {
  if (options.new_tokens) return *options.new_tokens;
  const Index room = longest_continuation(config, prompt_length).value_or(kNewTokens);
  return room >= 1 ? std::min(room, kNewTokens) : kNewTokens;  // without room it is refused
}

// Bytes of the cached keys and values of the longest sequence, or of a row of ids; the passes take
// less.
double bytes_of_decoding(const ModelConfig& config, const std::vector<Sequence>& sequences,
                         const Options& options) {
  std::size_t longest = 0;
  for (const Sequence& sequence : sequences) longest = std::max(longest, sequence.ids.size());
  const double tokens =
      static_cast<double>(longest) + static_cast<double>(options.new_tokens.value_or(kNewTokens));
  const Index key_width = config.depth * config.kv_heads * config.head_dim;
  const double cached = options.no_cache ? 0 : 2.0 * sizeof(float) * static_cast<double>(key_width);
  return tokens * (cached + 2.0 * sizeof(Index));
}

// Positions never trained on are allowed, but the text suffers: the user should not look for a bug.
void note_length(const ModelConfig& config, Index read, Index length, const cli::Session& session) {
  if (config.seq_len == 0 || read <= config.seq_len || config.longest_sequence()) return;
  session.note(fmt::format("goes on to {} tokens, though the model was trained on {} at a time",
                           length, config.seq_len));
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
  return sampling;
}

// Calls work(sequence) and says whose a refusal is.
template <class Work>
void with_prompt_named(const Options& options, Sequence& sequence, const Work& work) {
  try {
    work(sequence);
  } catch (const UsageError& error) {
    if (options.prompt) throw;
    throw UsageError(fmt::format("{}: {}", sequence.where, error.what()), error.hints());
  }
}

}  // namespace

void decode(const Options& options, const Transformer<float>& model, const Language& language,
            std::vector<Sequence>& sequences, const cli::Session& session) {
  const ModelConfig& config = model.config();
  if (!config.longest_sequence()) {
    require_memory("decoding", bytes_of_decoding(config, sequences, options));
  }
  GenerationSettings settings;
  if (!options.ignore_eos) settings.eos = language.specials.eos;
  settings.use_cache = !options.no_cache;
  settings.threads = static_cast<int>(options.threads);
  settings.sampling = sampling_settings(options, config, session);
  Index longest = 0;
  bool stopped_short = false;
  for (Sequence& sequence : sequences) {
    std::vector<Index> begin = sequence.ids;
    if (language.arch == Arch::kEncoderDecoder) begin = {*language.specials.bos};
    const auto prompt_length = static_cast<Index>(begin.size());
    settings.new_tokens = new_tokens(options, config, prompt_length);
    with_prompt_named(options, sequence, [&](Sequence& one) {
      one.added = language.arch == Arch::kEncoderDecoder
                      ? generate<float>(model, SourceTokens{one.ids}, begin, settings)
                      : generate<float>(model, begin, settings);
    });
    ++settings.sampling.prompt;
    longest = std::max(longest, prompt_length + static_cast<Index>(sequence.added.tokens.size()));
    stopped_short = stopped_short || (!options.new_tokens && settings.new_tokens < kNewTokens &&
                                      sequence.added.finish == Finish::kLength);
  }
  if (stopped_short) {
    session.note(
        fmt::format("stops at the end of the model's table of {} positions", config.max_positions));
  }
  note_length(config, longest - 1, longest, session);
}

void fill(const Options& options, const Transformer<float>& model, const Language& language,
          std::vector<Sequence>& sequences, const cli::Session& session) {
  FillSettings settings;
  settings.mask = *language.specials.mask;
  settings.threads = static_cast<int>(options.threads);
  settings.sampling = sampling_settings(options, model.config(), session);
  Index longest = 0;
  for (Sequence& sequence : sequences) {
    with_prompt_named(options, sequence, [&](Sequence& one) {
      one.filled = fill_masks<float>(model, one.ids, settings);
    });
    ++settings.sampling.prompt;
    longest = std::max(longest, static_cast<Index>(sequence.ids.size()));
  }
  note_length(model.config(), longest, longest, session);
}

}  // namespace attn
