#include "bench/model_subject.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "bench/layer_subject.h"
#include "core/counted.h"
#include "core/error.h"
#include "core/rng.h"

namespace attn {
namespace {

// What the caches and the counters of its layers need to know.
AttentionConfig counted_attention(const ModelConfig& config) {
  return attention_config(
      {config.dim, config.heads, config.kv_heads, config.head_dim, config.window});
}

}  // namespace

double model_subject_bytes(const ModelConfig& config, Index capacity, Index caches) {
  const auto real = [](Index value) { return static_cast<double>(value); };
  const double cache = 2.0 * real(config.depth) * real(config.kv_heads) * real(config.head_dim);
  const double outputs = (1.0 + real(caches)) * real(config.vocab_size);
  // One pass over all tokens: what a block holds at a time.
  const double activations = 8.0 * real(config.dim) + 2.0 * real(config.mlp_hidden);
  return sizeof(float) * real(capacity) * (cache * real(caches) + outputs + activations);
}

void check_length(const ModelConfig& config, Index longest) {
  const std::optional<Index> most = config.longest_sequence();
  if (most && longest > *most) {
    throw UsageError(fmt::format("{} are more than the {} of the model", counted(longest, "token"),
                                 counted(*most, "position")));
  }
}

ModelSubject::ModelSubject(std::unique_ptr<Transformer<float>> model, Index capacity, int threads,
                           std::uint64_t seed, Index page_size)
    : CachedSubject(threads, page_size),
      config_(model->config()),
      capacity_(capacity),
      model_(std::move(model)),
      ids_(static_cast<std::size_t>(capacity)) {
  require_shape(config_.arch == Arch::kDecoder, "model subject: only a decoder can decode");
  check_length(config_, capacity);
  Rng rng(seed, RandomPurpose::kBenchmark);
  for (Index& id : ids_) id = rng.below(config_.vocab_size);
}

ModelSubject::ModelSubject(const ModelConfig& config, Index capacity, Index page_size)
    : CachedSubject(1, page_size), config_(config), capacity_(capacity) {
  require_shape(config_.arch == Arch::kDecoder, "model subject: only a decoder can decode");
  check_length(config_, capacity);
  counted_ = std::make_unique<CountedLayers>(counted_attention(config_), config_.depth);
}

KvCache<float> ModelSubject::make_cache(const KvLayout& layout) const {
  return KvCache<float>(
      KvShape{config_.depth, 1, capacity_, config_.kv_heads, config_.head_dim, layout});
}

void ModelSubject::run(Index first, Index count, KvCache<float>* cache, float* output) {
  if (counted_) return counted_->run(count, cache, counts_);
  const Arena::Scope scope(work_.arena());
  Pass<float> pass = model_->pass(work_);
  pass.counts = &counts_;
  TokenInput input;
  input.ids = std::span<const Index>(ids_).subspan(static_cast<std::size_t>(first),
                                                   static_cast<std::size_t>(count));
  input.rows.seq_len = count;
  const Matrix<float> logits = model_->forward(pass, input, cache, nullptr, LogitRows::kLast);
  std::copy_n(logits.row(0), width(), output);
}

// Of the tables only single rows are read, unless the head multiplies by the token table.
Index ModelSubject::weight_bytes() const {
  const ParameterCounts counts = count_parameters(config());
  const Index tables = counts.positions + (config().tie_embeddings ? 0 : counts.tokens);
  return (counts.total - tables) * Index{sizeof(float)};
}

// The head is asked for the last row alone, and so is the last block but for keys and values.
double ModelSubject::flops(Index past, Index count) const {
  const auto real = [](Index value) { return static_cast<double>(value); };
  const double head = 2.0 * real(config_.dim) * real(config_.vocab_size);
  const double matrices = forward_flops_per_token(config_, 1) -
                          4.0 * real(config_.depth) * real(config_.heads) * real(config_.head_dim) -
                          head;
  const double depth = real(config_.depth);
  const double block = matrices / depth;
  const double keys = 4.0 * real(config_.dim) * real(config_.kv_heads) * real(config_.head_dim);
  const double before = (depth - 1) * (block * real(count) + attention_flops(past, count) / depth);
  const double last = attention_flops(past + count - 1, 1) / depth;
  return before + keys * real(count) + block - keys + last + head;
}

}  // namespace attn
