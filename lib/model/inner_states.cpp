#include "model/inner_states.h"

#include <utility>

#include "core/error.h"
#include "model/looking_pass.h"

namespace attn {
InnerStates inner_states(const Transformer<float>& model, std::span<const Index> ids,
                         const Tokenizer& tokenizer, std::span<const Index> source,
                         const Tokenizer* source_tokenizer, int threads) {
  require_shape((model.config().arch == Arch::kEncoderDecoder) == (source_tokenizer != nullptr),
                "inner states: source");
  Probe<float> probe;
  probe.want_hidden = true;
  InnerStates states;
  states.logits = looking_pass(model, ids, source, LogitRows::kAll, probe, threads);
  for (auto& [name, rows] : probe.hidden) {
    rows.shape = {rows.dim(1), rows.dim(2)};  // the batch is one sequence
    states.hidden[name] = std::move(rows);
  }
  states.tokens = labels_of(ids, tokenizer);
  if (source_tokenizer != nullptr) states.source_tokens = labels_of(source, *source_tokenizer);
  return states;
}

void write_logits(Hdf5Writer& writer, const InnerStates& states) {
  writer.labels("/token", states.tokens);
  writer.dataset("/logits", states.logits);
  writer.scale("/logits", 0, "/token", "token");
}

void write_hidden(Hdf5Writer& writer, const InnerStates& states) {
  writer.labels("/token", states.tokens);
  if (!states.source_tokens.empty()) writer.labels("/source_token", states.source_tokens);
  for (const auto& [name, rows] : states.hidden) {
    writer.dataset("/hidden/" + name, rows);
    const bool of_source = name.starts_with("encoder.");
    writer.scale("/hidden/" + name, 0, of_source ? "/source_token" : "/token",
                 of_source ? "source_token" : "token");
  }
}

}  // namespace attn
