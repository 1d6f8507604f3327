#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/cached_subject.h"
#include "model/transformer.h"

namespace attn {

/// Bytes that a ModelSubject takes beside its parameters, as a real number that cannot overflow.
double model_subject_bytes(const ModelConfig& config, Index capacity);

/// A whole decoder, fed with token ids drawn evenly from its vocabulary.
class ModelSubject : public CachedSubject {
 public:
  /// capacity: most tokens it will process. Throws UsageError where that passes the model's longest
  /// sequence, ShapeError for a model that is no decoder.
  ModelSubject(std::unique_ptr<Transformer<float>> model, Index capacity, int threads,
               std::uint64_t seed, Index page_size = kPageRows);

  const ModelConfig& config() const { return model_->config(); }
  Index width() const override { return config().vocab_size; }
  Index layers() const override { return config().depth; }
  Index heads() const override { return config().heads; }
  Index kv_heads() const override { return config().kv_heads; }
  Index weight_bytes() const override;

 private:
  void run(Index first, Index count, KvCache<float>* cache, float* output) override;

  std::unique_ptr<Transformer<float>> model_;
  std::vector<Index> ids_;
};

}  // namespace attn
