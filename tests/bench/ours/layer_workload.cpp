#include <array>
#include <optional>
#include <vector>

#include "bench/stopwatch.h"
#include "cache_settings.h"
#include "core/error.h"
#include "core/rng.h"
#include "nn/attention.h"

namespace attn {
namespace {

AttentionConfig layer_settings(Settings& settings) {
  AttentionConfig config;
  config.dim = settings.number("dim", 64);
  config.heads = settings.number("heads", 4);
  config.kv_heads = settings.number("kv_heads", config.heads);
  config.head_dim = config.dim / config.heads;
  return config;
}

KvShape cache_of(const AttentionConfig& config, const CacheSettings& cache, Index tokens) {
  KvShape shape;
  shape.batch = cache.scattered ? 2 : 1;
  shape.capacity = tokens;
  shape.kv_heads = config.kv_heads;
  shape.head_dim = config.head_dim;
  shape.layout = cache.layout;
  return shape;
}

// The tutorial's layer: one token after another, attending to all before it. Of a prefix that is
// computed again every row may ask, as in a block with others above it, or the last one alone.
class Layer : public Workload {
 public:
  Layer(const AttentionConfig& config, const CacheSettings& cache, RowsWanted wanted, Index tokens,
        int threads)
      : attention_(params_, "attn", config),
        cache_settings_(cache),
        wanted_(wanted),
        cache_(cache_of(config, cache, tokens)),
        work_(threads),
        dim_(config.dim),
        tokens_(tokens),
        x_(static_cast<std::size_t>(tokens * config.dim)) {
    params_.allocate();
    params_.initialise(1);
    Rng rng(1, RandomPurpose::kBenchmark);
    for (float& value : x_) value = static_cast<float>(rng.normal());
  }

  Seconds sample() override {
    std::int64_t nanoseconds = 0;
    cache_.truncate(0);
    cache_.select(kTimed);
    Stopwatch watch;
    for (Index token = 0; token < tokens_; ++token) {
      if (!cache_settings_.cached) {
        run(0, token + 1);
        continue;
      }
      if (cache_settings_.scattered && token % cache_settings_.layout.page_size == 0) {
        nanoseconds += watch.elapsed().wall_ns;
        take_next_page(token);
        watch.restart();
      }
      run(token, 1);
    }
    nanoseconds += watch.elapsed().wall_ns;
    return {{"decode", static_cast<double>(nanoseconds) * 1e-9}};
  }

 private:
  static constexpr std::array<Index, 1> kTimed = {0};
  static constexpr std::array<Index, 1> kOther = {1};

  void run(Index first, Index count) {
    const Arena::Scope scope(work_.arena());
    const Pass<float> pass{params_.values(), work_};
    Sequences rows;
    rows.seq_len = count;
    const Matrix<const float> x(x_.data() + first * dim_, count, dim_);
    attention_.forward(pass, x, rows, nullptr, cache_settings_.cached ? &cache_.self(0) : nullptr,
                       nullptr, wanted_);
  }
  void take_next_page(Index first) {
    cache_.select(kOther);
    run(first, std::min(cache_settings_.layout.page_size, tokens_ - first));
    cache_.select(kTimed);
  }

  ParamStore<float> params_;
  Attention<float> attention_;
  CacheSettings cache_settings_;
  RowsWanted wanted_;
  KvCache<float> cache_;
  Workspace work_;
  Index dim_, tokens_;
  std::vector<float> x_;
};

}  // namespace

std::unique_ptr<Workload> layer_workload(Settings& settings) {
  const AttentionConfig config = layer_settings(settings);
  const CacheSettings cache = cache_settings(settings);
  if (cache.scattered && cache.layout.page_size == 0) {
    throw UsageError("only pages can be scattered");
  }
  const std::string rows = settings.text("rows", "last");
  if (rows != "all" && rows != "last") throw UsageError("rows is all or last: " + rows);
  const RowsWanted wanted = rows == "all" ? RowsWanted::kAll : RowsWanted::kLast;
  const Index tokens = settings.number("tokens", 512);
  return std::make_unique<Layer>(config, cache, wanted, tokens,
                                 static_cast<int>(settings.number("threads", 1)));
}

}  // namespace attn
