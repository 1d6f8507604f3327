#include "model/looking_pass.h"

#include <algorithm>

namespace attn {

Tensor<float> looking_pass(const Transformer<float>& model, std::span<const Index> ids,
                           std::span<const Index> source, LogitRows which, Probe<float>& probe,
                           int threads) {
  Workspace work(threads);
  Pass<float> pass = model.pass(work);
  pass.probe = &probe;
  const Arena::Scope scope(work.arena());
  TokenInput input;
  input.ids = ids;
  input.rows.seq_len = static_cast<Index>(ids.size());
  input.source = source;
  input.source_rows.seq_len = static_cast<Index>(source.size());
  const Matrix<float> logits = model.forward(pass, input, nullptr, nullptr, which);
  Tensor<float> kept({logits.rows(), logits.cols()});
  std::copy_n(logits.data(), logits.size(), kept.data());
  return kept;
}

std::vector<std::string> labels_of(std::span<const Index> ids, const Tokenizer& tokenizer) {
  std::vector<std::string> labels;
  labels.reserve(ids.size());
  for (const Index id : ids) labels.push_back(tokenizer.label(id));
  return labels;
}

}  // namespace attn
