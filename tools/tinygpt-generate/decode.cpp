#include "tinygpt-generate/decode.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "core/error.h"
#include "text/one_line.h"
#include "text/spoken_text.h"
#include "tinygpt-generate/settings.h"

namespace attn {
namespace {

// Calls work() and says whose a refusal is.
template <class Work>
void with_prompt_named(const Options& options, const Sequence& sequence, const Work& work) {
  try {
    work();
  } catch (const UsageError& error) {
    if (options.prompt) throw;
    throw UsageError(fmt::format("{}: {}", sequence.where, error.what()), error.hints());
  }
}

// The prompts, one after another.
class Decoding {
 public:
  Decoding(const Options& options, const Transformer<float>& model, const Language& language,
           cli::Session& session)
      : options_(options),
        model_(model),
        language_(language),
        session_(session),
        // Of several texts each has one line, whatever the model says.
        one_line_each_(!options.prompt || options.samples > 1),
        prints_(options.format == cli::Format::kText && options.beams == 0),
        streams_(prints_ && options.samples == 1) {
    settings_.sampling = sampling_settings(options, model.config(), session);
    settings_.samples = options.samples;
    if (!options.ignore_eos) settings_.eos = language.specials.eos;
    settings_.stop_ids = options.stop_ids;
    settings_.alternatives =
        options.alternatives.value_or(options.logprobs.empty() ? 0 : kAlternatives);
  }

  // What a prompt is refused for is known before anything is printed.
  void check(const Sequence& sequence) const {
    const std::vector<Index> begin = first_tokens(sequence, language_);
    FeedSettings feed = feed_settings(options_);
    feed.new_tokens = new_tokens(options_, model_.config(), static_cast<Index>(begin.size()));
    const SourceTokens source{sequence.ids};
    check_feed(model_.config(), two_stacks() ? &source : nullptr, begin, feed);
  }

  void run(Sequence& sequence) {
    const std::vector<Index> begin = first_tokens(sequence, language_);
    const auto prompt_length = static_cast<Index>(begin.size());
    static_cast<FeedSettings&>(settings_) = feed_settings(options_);
    settings_.new_tokens = new_tokens(options_, model_.config(), prompt_length);
    if (options_.beams > 0) {
      search(sequence, begin);
    } else {
      draw(sequence, begin);
    }
    ++settings_.sampling.prompt;
  }

  void note_ends() const {
    const ModelConfig& config = model_.config();
    if (stopped_short_) {
      session_.note(config.position == Position::kLearned
                        ? fmt::format("stops at the end of the model's table of {} positions",
                                      config.max_positions)
                        : "stops: " + config.longest_sequence_reason());
    }
    const Index read = options_.window > 0 ? std::min(options_.window, longest_ - 1) : longest_ - 1;
    note_length(config, read, longest_, session_);
    if (!session_.manner().verbose) return;
    session_.note(fmt::format("smallest lead of any choice: {:.6g}", smallest_lead_));
  }

 private:
  bool two_stacks() const { return language_.arch == Arch::kEncoderDecoder; }

  void draw(Sequence& sequence, const std::vector<Index>& begin) {
    const SourceTokens source{sequence.ids};
    std::deque<SpokenText> spoken;
    for (Index i = 0; i < options_.samples; ++i) {
      spoken.emplace_back(*language_.written, options_.stop);
      std::string& text = sequence.texts.emplace_back();
      say(text, echo(sequence, spoken.back()));
    }
    settings_.on_token = [&](Index sample, Index token) {
      if (ends(token)) return true;
      const auto at = static_cast<std::size_t>(sample);
      say(sequence.texts[at], spoken[at].add(token));
      return !spoken[at].stopped();
    };
    sequence.samples =
        generate_samples<float>(model_, two_stacks() ? &source : nullptr, begin, settings_);
    for (std::size_t i = 0; i < spoken.size(); ++i) {
      say(sequence.texts[i], spoken[i].finish());
      if (prints_ && !streams_) session_.report().write(one_line(sequence.texts[i]));
      if (prints_) session_.report().write("\n");
      const Generation& one = sequence.samples[i];
      note_one(begin, one.tokens.size(), one.finish == Finish::kLength, one.smallest_lead);
    }
    session_.report().flush();
  }

  void search(Sequence& sequence, const std::vector<Index>& begin) {
    const SourceTokens source{sequence.ids};
    BeamSettings settings;
    static_cast<FeedSettings&>(settings) = settings_;
    settings.width = options_.beams;
    settings.length_penalty = options_.length_penalty;
    settings.eos = settings_.eos;
    settings.stop_ids = settings_.stop_ids;
    settings.keep_rounds = options_.pools;
    sequence.beams = search_beams<float>(model_, two_stacks() ? &source : nullptr, begin, settings);
    for (const Hypothesis& one : sequence.beams.hypotheses) {
      SpokenText spoken(*language_.written, {});
      std::string text = echo(sequence, spoken);
      for (const Index token : one.tokens) {
        if (!ends(token)) text += spoken.add(token);
      }
      sequence.texts.push_back(text + spoken.finish());
      note_one(begin, one.tokens.size(), !one.finished(), sequence.beams.smallest_lead);
    }
  }

  // The prompt, where it is printed. A BOS nobody typed is not; an answer is a text of its own, not
  // the prompt's end.
  std::string echo(const Sequence& sequence, SpokenText& spoken) const {
    if (!options_.echo) return {};
    if (two_stacks()) return sequence.prompt + "\t";
    std::string text;
    for (std::size_t i = sequence.bos_added ? 1 : 0; i < sequence.ids.size(); ++i) {
      text += spoken.echo(sequence.ids[i]);
    }
    return text;
  }

  // The token that ends a sequence is not part of its text.
  bool ends(Index token) const {
    return settings_.eos == token ||
           std::count(options_.stop_ids.begin(), options_.stop_ids.end(), token) > 0;
  }

  void say(std::string& text, const std::string& piece) {
    text += piece;
    if (!streams_ || piece.empty()) return;
    session_.report().write(one_line_each_ ? one_line(piece) : piece);
    session_.report().flush();
  }

  void note_one(const std::vector<Index>& begin, std::size_t added, bool whole, double lead) {
    longest_ = std::max(longest_, static_cast<Index>(begin.size() + added));
    stopped_short_ =
        stopped_short_ || (!options_.new_tokens && whole && settings_.new_tokens < kNewTokens);
    smallest_lead_ = std::min(smallest_lead_, lead);
  }

  const Options& options_;
  const Transformer<float>& model_;
  const Language& language_;
  cli::Session& session_;
  bool one_line_each_, prints_, streams_;
  GenerationSettings settings_;
  Index longest_ = 0;
  bool stopped_short_ = false;
  double smallest_lead_ = std::numeric_limits<double>::infinity();
};

}  // namespace

void decode(const Options& options, const Transformer<float>& model, const Language& language,
            std::vector<Sequence>& sequences, cli::Session& session) {
  check_decoding(options, model.config(), sequences);
  Decoding decoding(options, model, language, session);
  for (const Sequence& sequence : sequences) {
    with_prompt_named(options, sequence, [&] { decoding.check(sequence); });
  }
  for (Sequence& sequence : sequences) {
    with_prompt_named(options, sequence, [&] { decoding.run(sequence); });
  }
  decoding.note_ends();
}

void fill(const Options& options, const Transformer<float>& model, const Language& language,
          std::vector<Sequence>& sequences, const cli::Session& session) {
  FillSettings settings;
  settings.mask = *language.specials.mask;
  settings.threads = static_cast<int>(options.threads);
  settings.sampling = sampling_settings(options, model.config(), session);
  settings.alternatives =
      options.alternatives.value_or(options.logprobs.empty() ? 0 : kAlternatives);
  Index longest = 0;
  for (Sequence& sequence : sequences) {
    with_prompt_named(options, sequence,
                      [&] { sequence.filled = fill_masks<float>(model, sequence.ids, settings); });
    const std::string text = language.written->decode(sequence.filled.ids);
    sequence.texts = {options.echo ? sequence.prompt + "\t" + text : text};
    ++settings.sampling.prompt;
    longest = std::max(longest, static_cast<Index>(sequence.ids.size()));
  }
  note_length(model.config(), longest, longest, session);
}

}  // namespace attn
