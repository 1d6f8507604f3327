#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "bench/cache_experiment.h"
#include "bench/model_subject.h"
#include "sizing/kv_bytes.h"

// The caches that decode are as large as kvcache-size says: both are asked about the same shapes.

namespace attn {
namespace {

struct Shape {
  Index layers, kv_heads, head_dim, window;
};

// The cache itself is filled, its rows counted; nothing is computed.
CacheRow decoded(const Shape& shape, const CacheWay& way, Index page_size, Index tokens) {
  ModelConfig config;
  config.depth = shape.layers;
  config.heads = config.kv_heads = shape.kv_heads;
  config.head_dim = shape.head_dim;
  config.window = shape.window;
  std::vector<std::unique_ptr<DecodeSubject>> subjects;
  subjects.push_back(std::make_unique<ModelSubject>(config.completed(), tokens, page_size));
  CacheExperiment experiment(std::move(subjects), {{0, tokens}}, {way});
  experiment.verify(false);
  EXPECT_TRUE(experiment.agreement().counts);
  return experiment.rows().back();
}

CacheSpec spec_of(const Shape& shape) {
  if (shape.window == 0) return uniform_spec(shape.layers, shape.kv_heads, shape.head_dim);
  CacheSpec spec;
  spec.add(window_layer(shape.kv_heads, shape.head_dim, shape.head_dim, shape.window),
           shape.layers);
  return spec;
}

CacheQuestion question(const CacheWay& way, Index tokens) {
  CacheQuestion asked;
  asked.lengths.tokens = tokens;
  asked.key_type = cache_type(kv_type_name(way.types.keys), "--k-dtype");
  asked.value_type = cache_type(kv_type_name(way.types.values), "--v-dtype");
  return asked;
}

// Pages as the engine with pages reserves them, a window growing by one token at a time.
CacheQuestion paged_question(const CacheWay& way, Index tokens, Index page_size) {
  CacheQuestion asked = question(way, tokens);
  asked.runtime.kind = Runtime::Kind::kVllm;
  asked.runtime.block_size = page_size;
  asked.runtime.batched_tokens = 1;
  return asked;
}

std::string text(const Shape& shape, const CacheWay& way, Index page_size, Index tokens) {
  return fmt::format("{} layers of {} x {}, window {}, {}, pages of {}, {} tokens", shape.layers,
                     shape.kv_heads, shape.head_dim, shape.window, way_name(way), page_size,
                     tokens);
}

std::vector<CacheWay> ways(CacheKind kind, Index head_dim) {
  std::vector<CacheWay> all;
  for (const KvType k_type : kv_types()) {
    for (const KvType v_type : kv_types()) {
      const bool blocks = k_type == KvType::kQ8_0 || k_type == KvType::kQ4_0 ||
                          v_type == KvType::kQ8_0 || v_type == KvType::kQ4_0;
      if (!blocks || head_dim % 32 == 0) all.emplace_back(kind, k_type, v_type);
    }
  }
  return all;
}

constexpr Shape kWhole[] = {{1, 8, 64, 0}, {3, 2, 32, 0}, {2, 1, 24, 0}};
constexpr Shape kWindows[] = {{1, 2, 32, 8}, {2, 1, 64, 9}, {3, 3, 8, 1}, {1, 1, 32, 100}};

TEST(CacheSize, RowsInUseAreTheIdealAnswer) {
  for (const auto* shapes : {&kWhole[0], &kWindows[0]}) {
    const std::size_t count = shapes == kWhole ? std::size(kWhole) : std::size(kWindows);
    for (std::size_t i = 0; i < count; ++i) {
      const Shape& shape = shapes[i];
      for (const CacheKind kind : {CacheKind::kContiguous, CacheKind::kPaged}) {
        for (const CacheWay& way : ways(kind, shape.head_dim)) {
          for (const Index page_size : {1, 4, 16}) {
            for (const Index tokens : {1, 9, 33}) {
              EXPECT_EQ(decoded(shape, way, page_size, tokens).cache_bytes,
                        kv_bytes(spec_of(shape), question(way, tokens)).total)
                  << text(shape, way, page_size, tokens);
            }
          }
        }
      }
    }
  }
}

TEST(CacheSize, PagesTakeWhatTheEngineWithPagesReserves) {
  for (const Shape& shape : kWhole) {
    for (const CacheWay& way : ways(CacheKind::kPaged, shape.head_dim)) {
      for (const Index page_size : {1, 4, 16, 64}) {
        for (const Index tokens : {1, 16, 17, 33}) {
          EXPECT_EQ(decoded(shape, way, page_size, tokens).allocated_bytes,
                    kv_bytes(spec_of(shape), paged_question(way, tokens, page_size)).total)
              << text(shape, way, page_size, tokens);
        }
      }
    }
  }
}

TEST(CacheSize, ContiguousTakesItsWholeCapacity) {
  for (const Shape& shape : kWhole) {
    for (const CacheWay& way : ways(CacheKind::kContiguous, shape.head_dim)) {
      EXPECT_EQ(decoded(shape, way, 16, 33).allocated_bytes,
                kv_bytes(spec_of(shape), question(way, 33)).total)
          << text(shape, way, 16, 33);
    }
  }
}

// The engine reserves for the worst place of the window among the pages; here pages are taken and
// given back as it moves. Never more than that, and as much at the worst place; where the window's
// last row begins a page for every place (window - 1 divisible by the page size), one page less.
TEST(CacheSize, AWindowTakesAtMostWhatTheEngineReserves) {
  for (const Shape& shape : kWindows) {
    const bool blocks = shape.head_dim % 32 == 0;
    const CacheWay way(CacheKind::kPaged, blocks ? KvType::kQ8_0 : KvType::kF16,
                       blocks ? KvType::kQ4_0 : KvType::kNative);
    for (const Index page_size : {1, 4, 16}) {
      Index most = 0;
      const Index longest = shape.window + 2 * page_size + 3;
      for (Index tokens = shape.window + 1; tokens <= longest; ++tokens) {
        most = std::max(most, decoded(shape, way, page_size, tokens).allocated_bytes);
      }
      const CacheQuestion asked = paged_question(way, longest, page_size);
      const Index reserved = kv_bytes(spec_of(shape), asked).total;
      CacheQuestion page = question(way, page_size);
      const Index one_page =
          kv_bytes(uniform_spec(shape.layers, shape.kv_heads, shape.head_dim), page).total;
      const bool aligned = (shape.window - 1) % page_size == 0;
      EXPECT_EQ(most, aligned ? reserved - one_page : reserved)
          << text(shape, way, page_size, longest);
    }
  }
}

}  // namespace
}  // namespace attn
