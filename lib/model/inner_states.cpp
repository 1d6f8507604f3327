#include "model/inner_states.h"

#include <algorithm>

#include "core/error.h"

namespace attn {
namespace {

std::vector<std::string> labels_of(std::span<const Index> ids, const Tokenizer& tokenizer) {
  std::vector<std::string> labels;
  labels.reserve(ids.size());
  for (const Index id : ids) labels.push_back(tokenizer.label(id));
  return labels;
}

}  // namespace

InnerStates inner_states(const Transformer<float>& model, std::span<const Index> ids,
                         const Tokenizer& tokenizer, std::span<const Index> source,
                         const Tokenizer* source_tokenizer, int threads) {
  require_shape((model.config().arch == Arch::kEncoderDecoder) == (source_tokenizer != nullptr),
                "inner states: source");
  Workspace work(threads);
  Probe<float> probe;
  probe.want_hidden = true;
  Pass<float> pass = model.pass(work);
  pass.probe = &probe;
  const Arena::Scope scope(work.arena());
  TokenInput input;
  input.ids = ids;
  input.rows.seq_len = static_cast<Index>(ids.size());
  input.source = source;
  input.source_rows.seq_len = static_cast<Index>(source.size());
  const Matrix<float> logits = model.forward(pass, input, nullptr, nullptr);

  InnerStates states;
  states.logits = Tensor<float>({logits.rows(), logits.cols()});
  std::copy_n(logits.data(), logits.size(), states.logits.data());
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
