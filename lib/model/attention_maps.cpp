#include "model/attention_maps.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "model/induction_score.h"
#include "model/looking_pass.h"

namespace attn {
namespace {

// A module's name, or its name in one block.
std::string in_block(const std::string& module, Index block) {
  const std::size_t star = module.find('*');
  return module.substr(0, star) + std::to_string(block) + module.substr(star + 1);
}

// The weights of every block, out of the probe.
AttentionMaps collect(const Probe<float>& probe, const std::string& part, const std::string& module,
                      Index depth) {
  AttentionMaps maps;
  maps.part = part;
  maps.module = module;
  for (Index block = 0; block < depth; ++block) {
    const Tensor<float>& one = probe.weights.at(in_block(module, block));
    const Index heads = one.dim(1);  // the batch is one sequence
    if (block == 0) maps.weights = Tensor<float>({depth, heads, one.dim(2), one.dim(3)});
    std::copy(one.values.begin(), one.values.end(),
              maps.weights.values.begin() + block * one.size());
  }
  maps.hidden = Tensor<std::uint8_t>({maps.weights.dim(2), maps.weights.dim(3)});
  return maps;
}

// What is true of a decoder's self-attention alone.
void make_causal(AttentionMaps& maps, std::span<const Index> ids) {
  const Index n = maps.hidden.dim(0);
  for (Index query = 0; query < n; ++query) {
    for (Index key = query + 1; key < n; ++key) maps.hidden.matrix()(query, key) = 1;
  }
  Tensor<double> scores({maps.blocks(), maps.heads()});
  for (Index block = 0; block < maps.blocks(); ++block) {
    for (Index head = 0; head < maps.heads(); ++head) {
      const std::optional<double> score = induction_score(maps.map(block, head), ids);
      if (!score) return;
      scores.matrix()(block, head) = *score;
    }
  }
  maps.induction = std::move(scores);
}

void write_numbers(Hdf5Writer& writer, const std::string& path, Index count) {
  std::vector<Index> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), Index{0});
  writer.dataset(path, {count}, numbers.data());
}

}  // namespace

Matrix<const float> AttentionMaps::map(Index block, Index head) const {
  const Index queries = hidden.dim(0);
  const Index keys = hidden.dim(1);
  return {weights.data() + (block * heads() + head) * queries * keys, queries, keys};
}

std::vector<AttentionMaps> attention_maps(const Transformer<float>& model,
                                          std::span<const Index> ids, const Tokenizer& tokenizer,
                                          std::span<const Index> source,
                                          const Tokenizer* source_tokenizer, int threads) {
  const ModelConfig& config = model.config();
  const bool two_stacks = config.arch == Arch::kEncoderDecoder;
  require_shape(two_stacks == (source_tokenizer != nullptr), "attention maps: source");
  Probe<float> probe;
  probe.want_weights = true;
  looking_pass(model, ids, source, LogitRows::kLast, probe, threads);

  const std::vector<std::string> tokens = labels_of(ids, tokenizer);
  std::vector<AttentionMaps> all;
  if (!two_stacks) {
    AttentionMaps& maps = all.emplace_back(collect(probe, "", "blocks.*.attn", config.depth));
    maps.query_tokens = maps.key_tokens = tokens;
    if (config.arch == Arch::kDecoder) make_causal(maps, ids);
    return all;
  }
  const std::vector<std::string> source_tokens = labels_of(source, *source_tokenizer);
  AttentionMaps& encoder =
      all.emplace_back(collect(probe, "encoder", "encoder.blocks.*.attn", config.encoder_depth));
  encoder.query_tokens = encoder.key_tokens = source_tokens;
  AttentionMaps& decoder =
      all.emplace_back(collect(probe, "decoder", "decoder.blocks.*.attn", config.depth));
  decoder.query_tokens = decoder.key_tokens = tokens;
  make_causal(decoder, ids);
  AttentionMaps& cross =
      all.emplace_back(collect(probe, "cross", "decoder.blocks.*.cross_attn", config.depth));
  cross.query_tokens = tokens;
  cross.key_tokens = source_tokens;
  return all;
}

AttentionMaps attention_maps(const Transformer<float>& model, std::span<const Index> ids,
                             const Tokenizer& tokenizer, int threads) {
  require_shape(model.config().arch != Arch::kEncoderDecoder, "attention maps: no source");
  return attention_maps(model, ids, tokenizer, {}, nullptr, threads).front();
}

void write_attention_maps(Hdf5Writer& writer, const AttentionMaps& maps) {
  const std::string group = maps.part.empty() ? "" : "/" + maps.part;
  if (!group.empty()) writer.group(group);
  write_numbers(writer, group + "/block", maps.blocks());
  write_numbers(writer, group + "/head", maps.heads());
  write_numbers(writer, group + "/query", maps.hidden.dim(0));
  write_numbers(writer, group + "/key", maps.hidden.dim(1));
  const auto scales = [&](const char* name, std::vector<const char*> axes) {
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      writer.scale(group + name, static_cast<Index>(axis), group + "/" + axes[axis], axes[axis]);
    }
  };
  writer.dataset(group + "/attention", maps.weights);
  writer.attribute(group + "/attention", "module", maps.module);
  scales("/attention", {"block", "head", "query", "key"});
  writer.dataset(group + "/hidden", maps.hidden);
  scales("/hidden", {"query", "key"});
  writer.labels(group + "/query_token", maps.query_tokens);
  scales("/query_token", {"query"});
  writer.labels(group + "/key_token", maps.key_tokens);
  scales("/key_token", {"key"});
  if (maps.induction) {
    writer.dataset(group + "/induction", *maps.induction);
    scales("/induction", {"block", "head"});
  }
}

}  // namespace attn
