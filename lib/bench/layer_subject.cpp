#include "bench/layer_subject.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/error.h"
#include "core/rng.h"

namespace attn {
namespace {

void require_at_least_one(Index value, const char* option) {
  if (value < 1) throw UsageError(fmt::format("{} must be 1 or more: {}", option, value));
}

}  // namespace

void validate(const LayerShape& shape) {
  require_at_least_one(shape.dim, "--dim");
  require_at_least_one(shape.heads, "--heads");
  require_at_least_one(shape.kv_heads, "--kv-heads");
  require_at_least_one(shape.head_dim, "--head-dim");
  if (shape.heads % shape.kv_heads != 0) {
    throw UsageError(fmt::format("--kv-heads must divide --heads: {} does not divide {}",
                                 shape.kv_heads, shape.heads));
  }
}

AttentionConfig attention_config(const LayerShape& shape) {
  AttentionConfig config;
  config.dim = shape.dim;
  config.heads = shape.heads;
  config.kv_heads = shape.kv_heads;
  config.head_dim = shape.head_dim;
  config.window = shape.window;
  return config;
}

KvShape cache_shape(const LayerShape& shape, Index capacity, const KvLayout& layout) {
  KvShape cache;
  cache.capacity = capacity;
  cache.kv_heads = shape.kv_heads;
  cache.head_dim = shape.head_dim;
  cache.layout = layout;
  return cache;
}

double layer_subject_bytes(const LayerShape& shape, Index capacity, Index caches) {
  const auto real = [](Index value) { return static_cast<double>(value); };
  const double q_width = real(shape.heads) * real(shape.head_dim);
  const double kv_width = real(shape.kv_heads) * real(shape.head_dim);
  const double matrices = 2.0 * real(shape.dim) * (q_width + kv_width);
  // Tokens and outputs, of each cache and without; the caches; queries, keys, values, what was
  // mixed of them.
  const double rows = (2.0 + real(caches)) * real(shape.dim) + 2.0 * kv_width * real(caches) +
                      2.0 * (q_width + kv_width);
  return sizeof(float) * (matrices + real(capacity) * rows);
}

LayerSubject::LayerSubject(const LayerShape& shape, Index capacity, int threads, std::uint64_t seed,
                           Index page_size, Arithmetic arithmetic)
    : CachedSubject(threads, page_size),
      shape_(shape),
      capacity_(capacity),
      attention_(params_, "attn", attention_config(shape)),
      arithmetic_(arithmetic) {
  if (arithmetic == Arithmetic::kNone) return;
  tokens_.resize(static_cast<std::size_t>(capacity * width()));
  params_.allocate();
  params_.initialise(seed);
  Rng rng(seed, RandomPurpose::kBenchmark);
  for (float& value : tokens_) value = static_cast<float>(rng.normal());
}

KvCache<float> LayerSubject::make_cache(const KvLayout& layout) const {
  return KvCache<float>(cache_shape(shape_, capacity_, layout));
}

void LayerSubject::run(Index first, Index count, KvCache<float>* cache, float* output) {
  Sequences rows;
  rows.seq_len = count;
  KvSlot<float>* slot = cache != nullptr ? &cache->self(0) : nullptr;
  if (arithmetic_ == Arithmetic::kNone) return attention_.count(counts_, rows, slot);
  const Arena::Scope scope(work_.arena());
  Pass<float> pass{params_.values(), work_};
  pass.counts = &counts_;
  const Matrix<const float> x(tokens_.data() + first * width(), count, width());
  const Matrix<float> y =
      attention_.forward(pass, x, rows, nullptr, slot, nullptr, RowsWanted::kLast);
  std::copy_n(y.row(0), width(), output);
}

Index LayerSubject::weight_bytes() const {
  return params_.size() * Index{sizeof(float)};
}

// Every row has a key and a value; the last row alone asks.
double LayerSubject::flops(Index past, Index count) const {
  const auto real = [](Index value) { return static_cast<double>(value); };
  const double keys = 4.0 * real(shape_.dim) * real(shape_.kv_heads * shape_.head_dim);
  const double query = 4.0 * real(shape_.dim) * real(shape_.heads * shape_.head_dim);
  return keys * real(count) + query + attention_flops(past + count - 1, 1);
}

}  // namespace attn
