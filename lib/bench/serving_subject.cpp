#include "bench/serving_subject.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/rng.h"

namespace attn {

Index ServingSubject::run(KvCache<float>& cache, std::span<const Index> ids, const Sequences& rows,
                          Matrix<float> outputs) {
  require_shape(static_cast<Index>(ids.size()) == rows.rows() && outputs.rows() == rows.batch &&
                    outputs.cols() == width(),
                "serving: shape of the ids or outputs");
  const Arena::Scope scope(work_.arena());
  KeyRowCounts counts;
  Pass<float> one = pass();
  one.counts = &counts;
  forward(one, cache, ids, rows, outputs);
  return counts.each() * rows.batch;  // the layers count per sequence
}

ServedLayer::ServedLayer(const LayerShape& shape, int threads, std::uint64_t seed)
    : ServingSubject(threads),
      shape_(shape),
      attention_(params_, "attn", attention_config(shape)),
      table_(static_cast<std::size_t>(kKinds * shape.dim)) {
  params_.allocate();
  params_.initialise(seed);
  Rng rng(seed, RandomPurpose::kExample);
  for (float& value : table_) value = static_cast<float>(rng.normal());
}

KvCache<float> ServedLayer::make_cache(Index capacity, const KvLayout& layout) const {
  return KvCache<float>(cache_shape(shape_, capacity, layout));
}

void ServedLayer::forward(Pass<float>& pass, KvCache<float>& cache, std::span<const Index> ids,
                          const Sequences& rows, Matrix<float> outputs) {
  const Matrix<float> x = pass.arena().matrix<float>(rows.rows(), shape_.dim);
  for (Index i = 0; i < x.rows(); ++i) {
    const Index id = ids[static_cast<std::size_t>(i)];
    std::copy_n(table_.data() + id * shape_.dim, shape_.dim, x.row(i));
  }
  const Matrix<float> y = attention_.forward(pass, x, rows, nullptr, &cache.self(0), nullptr);
  for (Index i = 0; i < rows.batch; ++i) {
    std::copy_n(y.row((i + 1) * rows.seq_len - 1), shape_.dim, outputs.row(i));
  }
}

ServedModel::ServedModel(std::unique_ptr<Transformer<float>> model, Index longest, int threads)
    : ServingSubject(threads), model_(std::move(model)) {
  require_shape(config().arch == Arch::kDecoder, "serving: only a decoder can decode");
  check_length(config(), longest);
}

KvCache<float> ServedModel::make_cache(Index capacity, const KvLayout& layout) const {
  return model_->make_cache(1, capacity, 0, layout);
}

void ServedModel::forward(Pass<float>& pass, KvCache<float>& cache, std::span<const Index> ids,
                          const Sequences& rows, Matrix<float> outputs) {
  TokenInput input;
  input.ids = ids;
  input.rows = rows;
  const Matrix<float> logits = model_->forward(pass, input, &cache, nullptr, LogitRows::kLast);
  for (Index i = 0; i < rows.batch; ++i) std::copy_n(logits.row(i), width(), outputs.row(i));
}

}  // namespace attn
