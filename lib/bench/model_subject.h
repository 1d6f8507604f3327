#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/cached_subject.h"
#include "bench/counted_layers.h"
#include "model/transformer.h"

namespace attn {

/// Bytes that a ModelSubject and the outputs of its runs take beside its parameters, with so many
/// caches side by side, as a real number that cannot overflow.
double model_subject_bytes(const ModelConfig& config, Index capacity, Index caches = 1);

/// Throws UsageError where a sequence of so many tokens is longer than such a model's may be.
void check_length(const ModelConfig& config, Index longest);

/// A whole decoder, fed with token ids drawn evenly from its vocabulary.
class ModelSubject : public CachedSubject {
 public:
  /// capacity: most tokens it will process. Throws UsageError where that passes the model's longest
  /// sequence, ShapeError for a model that is no decoder.
  ModelSubject(std::unique_ptr<Transformer<float>> model, Index capacity, int threads,
               std::uint64_t seed, Index page_size = kPageRows);
  /// One for counting alone, Arithmetic::kNone.
  ModelSubject(const ModelConfig& config, Index capacity, Index page_size = kPageRows);

  const ModelConfig& config() const { return config_; }
  Index width() const override { return counted_ ? 0 : config_.vocab_size; }
  Index layers() const override { return config().depth; }
  Index heads() const override { return config().heads; }
  Index kv_heads() const override { return config().kv_heads; }
  Index head_dim() const override { return config().head_dim; }
  Index window() const override { return config().window; }
  Index weight_bytes() const override;
  double flops(Index past, Index count) const override;

 private:
  void run(Index first, Index count, KvCache<float>* cache, float* output) override;
  KvCache<float> make_cache(const KvLayout& layout) const override;

  ModelConfig config_;
  Index capacity_;
  std::unique_ptr<Transformer<float>> model_;
  std::unique_ptr<CountedLayers> counted_;  // or these: nothing is computed
  std::vector<Index> ids_;
};

}  // namespace attn
