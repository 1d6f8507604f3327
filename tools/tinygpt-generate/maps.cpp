#include "tinygpt-generate/maps.h"

#include <algorithm>

#include "io/output.h"
#include "io/provenance.h"
#include "model/inner_states.h"
#include "tinygpt-generate/settings.h"

namespace attn {
namespace {

void save(const std::string& file, Hdf5Writer& writer, const Options& options,
          const std::string& history, const cli::Session& session) {
  Provenance provenance;
  provenance.seed = options.seed;
  provenance.command = session.history();
  provenance.earlier_history = history;
  write_provenance(writer, provenance);
  write_output(file, writer.finish());
}

}  // namespace

std::vector<Index> tokens_looked_at(const Sequence& sequence, const ModelConfig& config,
                                    const Language& language, const Options& options) {
  if (language.arch == Arch::kEncoder) return sequence.ids;
  const Generation& added = sequence.samples.front();
  std::vector<Index> ids = first_tokens(sequence, language);
  ids.insert(ids.end(), added.tokens.begin(), added.tokens.end());
  const auto longest = config.longest_sequence();
  const bool bounded = longest && options.window == 0;
  const bool unread = language.arch == Arch::kEncoderDecoder || added.finish != Finish::kLength ||
                      (bounded && static_cast<Index>(ids.size()) > *longest);
  if (unread && !added.tokens.empty()) ids.pop_back();
  const auto window = static_cast<std::size_t>(options.window);
  if (window > 0 && ids.size() > window) {
    ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(window));
  }
  return ids;
}

std::vector<AttentionMaps> maps_of(const Sequence& sequence, const Transformer<float>& model,
                                   const Language& language, const Options& options) {
  const std::vector<Index> ids = tokens_looked_at(sequence, model.config(), language, options);
  const bool two_stacks = language.arch == Arch::kEncoderDecoder;
  return attention_maps(
      model, ids, *language.written,
      two_stacks ? std::span<const Index>(sequence.ids) : std::span<const Index>(),
      two_stacks ? language.read.get() : nullptr, static_cast<int>(options.threads));
}

void save_maps(const Options& options, const std::vector<AttentionMaps>& maps,
               const std::string& history, const cli::Session& session) {
  Hdf5Writer writer;
  for (const AttentionMaps& part : maps) write_attention_maps(writer, part);
  save(options.dump_attention, writer, options, history, session);
}

void save_states(const Sequence& sequence, const Transformer<float>& model,
                 const Language& language, const Options& options, const std::string& history,
                 const cli::Session& session) {
  if (options.dump_logits.empty() && options.dump_hidden.empty()) return;
  const std::vector<Index> ids = tokens_looked_at(sequence, model.config(), language, options);
  const bool two_stacks = language.arch == Arch::kEncoderDecoder;
  const InnerStates states =
      inner_states(model, ids, *language.written,
                   two_stacks ? std::span<const Index>(sequence.ids) : std::span<const Index>(),
                   two_stacks ? language.read.get() : nullptr, static_cast<int>(options.threads));
  if (!options.dump_logits.empty()) {
    Hdf5Writer writer;
    write_logits(writer, states);
    save(options.dump_logits, writer, options, history, session);
  }
  if (!options.dump_hidden.empty()) {
    Hdf5Writer writer;
    write_hidden(writer, states);
    save(options.dump_hidden, writer, options, history, session);
  }
}

}  // namespace attn
