#include "tinygpt-generate/maps.h"

#include "io/output.h"
#include "io/provenance.h"

namespace attn {

std::vector<AttentionMaps> maps_of(const Sequence& sequence, const Transformer<float>& model,
                                   const Language& language, int threads) {
  const bool two_stacks = language.arch == Arch::kEncoderDecoder;
  const Generation& added = sequence.added;
  std::vector<Index> ids = two_stacks ? std::vector<Index>{*language.specials.bos} : sequence.ids;
  ids.insert(ids.end(), added.tokens.begin(), added.tokens.end());
  const auto longest = model.config().longest_sequence();
  const bool unread = two_stacks || added.finish == Finish::kEos ||
                      (longest && static_cast<Index>(ids.size()) > *longest);
  if (unread && !added.tokens.empty()) ids.pop_back();
  if (!two_stacks) return attention_maps(model, ids, *language.written, {}, nullptr, threads);
  return attention_maps(model, ids, *language.written, sequence.ids, language.read.get(), threads);
}

void save_maps(const Options& options, const std::vector<AttentionMaps>& maps,
               const std::string& history, const cli::Session& session) {
  Hdf5Writer writer;
  for (const AttentionMaps& part : maps) write_attention_maps(writer, part);
  Provenance provenance;
  provenance.seed = options.seed;
  provenance.command = session.history();
  provenance.earlier_history = history;
  write_provenance(writer, provenance);
  write_output(options.dump_attention, writer.finish());
}

}  // namespace attn
