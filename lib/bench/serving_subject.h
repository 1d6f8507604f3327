#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/layer_subject.h"
#include "bench/model_subject.h"
#include "model/transformer.h"
#include "nn/attention.h"
#include "nn/kv_cache.h"

namespace attn {

/// Something that serves: it takes the sequences of a cache that are selected further, by as many
/// tokens each.
class ServingSubject {
 public:
  explicit ServingSubject(int threads) : work_(threads) {}
  ServingSubject(const ServingSubject&) = delete;
  ServingSubject& operator=(const ServingSubject&) = delete;
  virtual ~ServingSubject() = default;

  virtual Index width() const = 0;  // numbers of an output
  virtual Index kinds() const = 0;  // of tokens
  /// A cache for sequences of at most `capacity` rows, with one empty sequence.
  virtual KvCache<float> make_cache(Index capacity, const KvLayout& layout) const = 0;

  /// ids (rows.batch, rows.seq_len) follow what the cache holds of its selected sequences; outputs
  /// (rows.batch, width) gets what comes of each one's last. Returns the rows that each key
  /// projection multiplied, of all sequences together, by the layers' own counter.
  Index run(KvCache<float>& cache, std::span<const Index> ids, const Sequences& rows,
            Matrix<float> outputs);

 protected:
  virtual void forward(Pass<float>& pass, KvCache<float>& cache, std::span<const Index> ids,
                       const Sequences& rows, Matrix<float> outputs) = 0;
  virtual Pass<float> pass() = 0;

  Workspace work_;
};

/// One attention layer, as LayerSubject's; its tokens are rows of a table of normal numbers.
class ServedLayer : public ServingSubject {
 public:
  ServedLayer(const LayerShape& shape, int threads, std::uint64_t seed);

  Index width() const override { return shape_.dim; }
  Index kinds() const override { return kKinds; }
  KvCache<float> make_cache(Index capacity, const KvLayout& layout) const override;

 protected:
  void forward(Pass<float>& pass, KvCache<float>& cache, std::span<const Index> ids,
               const Sequences& rows, Matrix<float> outputs) override;

 private:
  static constexpr Index kKinds = 256;
  Pass<float> pass() override { return {params_.values(), work_}; }

  LayerShape shape_;
  ParamStore<float> params_;
  Attention<float> attention_;
  std::vector<float> table_;  // (kinds, dim)
};

/// A whole decoder.
class ServedModel : public ServingSubject {
 public:
  /// longest: rows of the longest sequence. Throws as check_length(), and ShapeError for a model
  /// that is no decoder.
  ServedModel(std::unique_ptr<Transformer<float>> model, Index longest, int threads);

  const ModelConfig& config() const { return model_->config(); }
  Index width() const override { return config().vocab_size; }
  Index kinds() const override { return config().vocab_size; }
  KvCache<float> make_cache(Index capacity, const KvLayout& layout) const override;

 private:
  void forward(Pass<float>& pass, KvCache<float>& cache, std::span<const Index> ids,
               const Sequences& rows, Matrix<float> outputs) override;
  Pass<float> pass() override { return model_->pass(work_); }

  std::unique_ptr<Transformer<float>> model_;
};

}  // namespace attn
