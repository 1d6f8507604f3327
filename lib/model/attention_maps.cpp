#include "model/attention_maps.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

namespace attn {
namespace {

void write_numbers(Hdf5Writer& writer, const std::string& path, Index count) {
  std::vector<Index> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), Index{0});
  writer.dataset(path, {count}, numbers.data());
}

}  // namespace

Matrix<const float> AttentionMaps::map(Index block, Index head) const {
  const Index n = hidden.dim(0);
  return {weights.data() + (block * heads() + head) * n * n, n, n};
}

AttentionMaps attention_maps(const Transformer<float>& model, std::span<const Index> ids,
                             const Tokenizer& tokenizer, int threads) {
  const ModelConfig& config = model.config();
  if (config.arch == Arch::kEncoderDecoder) {
    throw UsageError("attention maps of an encoder-decoder are not supported");
  }
  const auto n = static_cast<Index>(ids.size());
  Workspace work(threads);
  Probe<float> probe;
  probe.want_weights = true;
  Pass<float> pass = model.pass(work);
  pass.probe = &probe;
  const Arena::Scope scope(work.arena());
  const TokenInput input{ids, Sequences{1, n}, {}, {}};
  model.forward(pass, input, nullptr, nullptr, LogitRows::kLast);

  AttentionMaps maps;
  maps.weights = Tensor<float>({config.depth, config.heads, n, n});
  for (Index block = 0; block < config.depth; ++block) {
    const Tensor<float>& one = probe.weights.at(fmt::format("blocks.{}.attn", block));
    std::copy(one.values.begin(), one.values.end(),
              maps.weights.values.begin() + block * config.heads * n * n);
  }
  maps.hidden = Tensor<std::uint8_t>({n, n});
  for (Index query = 0; query < n; ++query) {
    for (Index key = query + 1; key < n && config.arch == Arch::kDecoder; ++key) {
      maps.hidden.matrix()(query, key) = 1;
    }
  }
  for (const Index id : ids) maps.tokens.push_back(tokenizer.label(id));
  return maps;
}

void write_attention_maps(Hdf5Writer& writer, const AttentionMaps& maps) {
  const Index n = maps.hidden.dim(0);
  write_numbers(writer, "/block", maps.blocks());
  write_numbers(writer, "/head", maps.heads());
  write_numbers(writer, "/query", n);
  write_numbers(writer, "/key", n);
  writer.dataset("/attention", maps.weights);
  writer.scale("/attention", 0, "/block", "block");
  writer.scale("/attention", 1, "/head", "head");
  writer.scale("/attention", 2, "/query", "query");
  writer.scale("/attention", 3, "/key", "key");

  writer.dataset("/hidden", maps.hidden);
  writer.scale("/hidden", 0, "/query", "query");
  writer.scale("/hidden", 1, "/key", "key");

  writer.labels("/query_token", maps.tokens);
  writer.scale("/query_token", 0, "/query", "query");
  writer.labels("/key_token", maps.tokens);
  writer.scale("/key_token", 0, "/key", "key");
}

}  // namespace attn
