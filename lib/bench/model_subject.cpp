#include "bench/model_subject.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/rng.h"

namespace attn {

double model_subject_bytes(const ModelConfig& config, Index capacity) {
  const auto real = [](Index value) { return static_cast<double>(value); };
  const double cache = 2.0 * real(config.depth) * real(config.kv_heads) * real(config.head_dim);
  const double outputs = 2.0 * real(config.vocab_size);
  // One pass over all tokens: what a block holds at a time.
  const double activations = 8.0 * real(config.dim) + 2.0 * real(config.mlp_hidden);
  return sizeof(float) * real(capacity) * (cache + outputs + activations);
}

ModelSubject::ModelSubject(std::unique_ptr<Transformer<float>> model, Index capacity, int threads,
                           std::uint64_t seed, Index page_size)
    : CachedSubject(threads), model_(std::move(model)), ids_(static_cast<std::size_t>(capacity)) {
  require_shape(config().arch == Arch::kDecoder, "model subject: only a decoder can decode");
  const std::optional<Index> longest = config().longest_sequence();
  if (longest && capacity > *longest) {
    throw UsageError(fmt::format("{} tokens are more than the {} positions that the model has",
                                 capacity, *longest));
  }
  contiguous_.emplace(model_->make_cache(1, capacity));
  paged_.emplace(model_->make_cache(1, capacity, 0, {page_size}));
  Rng rng(seed, RandomPurpose::kBenchmark);
  for (Index& id : ids_) id = rng.below(config().vocab_size);
}

void ModelSubject::run(Index first, Index count, KvCache<float>* cache, float* output) {
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

}  // namespace attn
