#include "nn/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/rng.h"

// Laws of one attention layer.

namespace attn {
namespace {

template <class T>
struct Layer {
  ParamStore<T> params;
  Attention<T> attention;

  explicit Layer(const AttentionConfig& config, std::uint64_t seed = 1)
      : attention(params, "attn", config) {
    params.allocate();
    params.initialise(seed);
  }
  std::vector<T> run(const std::vector<T>& x, const Sequences& rows, Workspace& work) const {
    const Matrix<const T> view(x.data(), rows.rows(), attention.config().dim);
    const Matrix<T> y =
        attention.forward({params.values(), work}, view, rows, nullptr, nullptr, nullptr);
    return {y.data(), y.data() + y.size()};
  }
};

template <class T>
std::vector<T> noise(Index count, std::uint64_t seed) {
  Rng rng(seed, RandomPurpose::kExample);
  std::vector<T> made(static_cast<std::size_t>(count));
  for (T& value : made) value = static_cast<T>(rng.normal());
  return made;
}

AttentionConfig small() {
  AttentionConfig config;
  config.dim = 8;
  config.heads = 4;
  config.kv_heads = 4;
  config.head_dim = 2;
  return config;
}

// A head whose keys are repeated is a group: copying each key-value head's rows of the projections
// for every query head of its group gives plain attention with the same output.
TEST(Attention, GroupedHeadsAreRepeatedHeads) {
  AttentionConfig grouped = small();
  grouped.kv_heads = 2;
  grouped.rope_base = 10;
  AttentionConfig plain = grouped;
  plain.kv_heads = 4;
  const Layer<double> few(grouped);
  Layer<double> many(plain);
  for (const ParamInfo& info : many.params.list()) {
    const ParamInfo* from = few.params.find(info.name);
    const Index head_rows = info.shape.size() == 2 ? grouped.head_dim * grouped.dim
                                                   : grouped.head_dim;  // numbers of one head
    const bool repeated = from->place.size() != info.place.size();
    double* to = many.params.values() + info.place.offset;
    for (Index i = 0; i < info.place.size(); ++i) {
      const Index at = repeated ? i / head_rows / 2 * head_rows + i % head_rows : i;
      to[i] = few.params.values()[from->place.offset + at];
    }
  }
  const auto x = noise<double>(2 * 5 * 8, 3);
  Workspace work;
  const Sequences rows{2, 5, nullptr};
  const auto a = few.run(x, rows, work);
  const auto b = many.run(x, rows, work);
  // The same sums, in another order where a group is one product: some units of 1e-16.
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-13);
}

// Without positions and without the causal mask, rows have no order.
TEST(Attention, PermutingTheRowsPermutesTheOutput) {
  AttentionConfig config = small();
  config.causal = false;
  const Layer<double> layer(config);
  auto x = noise<double>(4 * 8, 4);
  Workspace work;
  const auto before = layer.run(x, {1, 4, nullptr}, work);
  std::rotate(x.begin(), x.begin() + 8, x.end());
  auto after = layer.run(x, {1, 4, nullptr}, work);
  std::rotate(after.begin(), after.end() - 8, after.end());
  for (std::size_t i = 0; i < before.size(); ++i) ASSERT_NEAR(before[i], after[i], 1e-14);

  config.rope_base = 10;
  const Layer<double> turned(config);
  const auto first = turned.run(x, {1, 4, nullptr}, work);
  std::rotate(x.begin(), x.begin() + 8, x.end());
  auto second = turned.run(x, {1, 4, nullptr}, work);
  std::rotate(second.begin(), second.end() - 8, second.end());
  double gap = 0;
  for (std::size_t i = 0; i < first.size(); ++i)
    gap = std::max(gap, std::abs(first[i] - second[i]));
  EXPECT_GT(gap, 1e-3) << "rope tells the order";
}

TEST(Attention, ABatchIsItsSequencesOneByOne) {
  AttentionConfig config = small();
  config.kv_heads = 1;
  config.alibi = true;
  const Layer<double> layer(config);
  const auto x = noise<double>(3 * 5 * 8, 5);
  Workspace work;
  const auto together = layer.run(x, {3, 5, nullptr}, work);
  for (std::size_t b = 0; b < 3; ++b) {
    const std::vector<double> alone(x.begin() + static_cast<std::ptrdiff_t>(b * 40),
                                    x.begin() + static_cast<std::ptrdiff_t>(b * 40 + 40));
    const auto y = layer.run(alone, {1, 5, nullptr}, work);
    for (std::size_t i = 0; i < 40; ++i) ASSERT_NEAR(y[i], together[b * 40 + i], 1e-14);
  }
}

TEST(Attention, AMaskedKeyHasNoInfluenceNotEvenANaNs) {
  AttentionConfig config = small();
  config.causal = false;
  const Layer<double> layer(config);
  auto x = noise<double>(4 * 8, 6);
  const std::vector<std::uint8_t> mask = {1, 1, 0, 1};
  Workspace work;
  const auto before = layer.run(x, {1, 4, mask.data()}, work);
  std::fill(x.begin() + 16, x.begin() + 24, std::nan(""));
  const auto after = layer.run(x, {1, 4, mask.data()}, work);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (i / 8 != 2) {
      ASSERT_EQ(before[i], after[i]) << "row " << i / 8;
    }
  }
}

// Long enough for several blocks of queries, which threads share.
TEST(Attention, ThreadsChangeNoBit) {
  AttentionConfig config = small();
  config.kv_heads = 2;
  config.rope_base = 10000;
  const Layer<float> layer(config);
  const auto x = noise<float>(2 * 300 * 8, 7);
  Workspace one(1);
  const auto expected = layer.run(x, {2, 300, nullptr}, one);
  for (const int threads : {2, 3, 8}) {
    Workspace work(threads);
    EXPECT_EQ(layer.run(x, {2, 300, nullptr}, work), expected) << threads;
  }
}

// A cache long enough that threads share its heads, which 3 parts cut unevenly, in every layout.
TEST(Attention, ThreadsChangeNoBitOfDecoding) {
  constexpr Index kRows = 300;
  AttentionConfig config;
  config.dim = 32;
  config.heads = 8;
  config.kv_heads = 4;
  config.head_dim = 64;
  config.alibi = true;
  const Layer<float> layer(config);
  const auto x = noise<float>((kRows + 1) * config.dim, 7);
  const auto decoded = [&](const KvLayout& layout, int threads) {
    Workspace work(threads);
    const Pass<float> pass{layer.params.values(), work};
    KvCache<float> cache({1, 1, kRows + 1, config.kv_heads, config.head_dim, layout});
    std::vector<float> made;
    for (const auto& [first, count] : {std::pair{Index{0}, kRows}, std::pair{kRows, Index{1}}}) {
      const Matrix<const float> part(x.data() + first * config.dim, count, config.dim);
      const Matrix<float> y = layer.attention.forward(pass, part, {1, count, nullptr}, nullptr,
                                                      &cache.self(0), nullptr);
      made.insert(made.end(), y.data(), y.data() + y.size());
    }
    return made;
  };
  const auto expected = decoded({}, 1);
  for (const int threads : {1, 2, 3}) {
    EXPECT_EQ(decoded({}, threads), expected) << threads;
    EXPECT_EQ(decoded({16}, threads), expected) << threads;
  }
}

// Row by row from pages that the window leaves behind, and in one pass: the same; and a row reads
// nothing before its window.
TEST(Attention, AWindowSlidesOverPagesThatAreGivenBack) {
  AttentionConfig config = small();
  config.window = 3;
  const Layer<float> layer(config);
  constexpr Index kRows = 11;
  auto x = noise<float>(kRows * config.dim, 3);
  Workspace work;
  const auto whole = layer.run(x, {1, kRows, nullptr}, work);
  KvLayout layout{2};
  layout.window = config.window;
  KvCache<float> cache({1, 1, kRows, config.kv_heads, config.head_dim, layout});
  const Pass<float> pass{layer.params.values(), work};
  for (Index row = 0; row < kRows; ++row) {
    const Arena::Scope scope(work.arena());
    const Matrix<float> y =
        layer.attention.forward(pass, {x.data() + row * config.dim, 1, config.dim}, {1, 1, nullptr},
                                nullptr, &cache.self(0), nullptr);
    for (Index c = 0; c < config.dim; ++c) {
      EXPECT_NEAR(y(0, c), whole[static_cast<std::size_t>(row * config.dim + c)], 1e-6F) << row;
    }
    EXPECT_LE(cache.bytes(), 3 * 2 * 2 * config.kv_heads * config.head_dim * Index{4});
  }
  for (Index c = 0; c < config.dim; ++c) x[static_cast<std::size_t>(5 * config.dim + c)] += 1;
  const auto changed = layer.run(x, {1, kRows, nullptr}, work);
  for (Index row = 0; row < kRows; ++row) {
    const auto at = static_cast<std::ptrdiff_t>(row * config.dim);
    const bool same =
        std::equal(whole.begin() + at, whole.begin() + at + config.dim, changed.begin() + at);
    EXPECT_EQ(same, row < 5 || row > 7) << row;
  }
}

TEST(Attention, RefusesATapeBesideACacheAndAContextThatIsNotWanted) {
  const Layer<float> layer(small());
  const auto x = noise<float>(8, 8);
  const Matrix<const float> row(x.data(), 1, 8);
  Workspace work;
  const Pass<float> pass{layer.params.values(), work};
  KvCache<float> cache({1, 1, 4, 4, 2});
  AttentionTape<float> tape;
  const Context<float> context{row, {1, 1, nullptr}};
  EXPECT_THROW(layer.attention.forward(pass, row, {1, 1, nullptr}, nullptr, &cache.self(0), &tape),
               ShapeError);
  EXPECT_THROW(layer.attention.forward(pass, row, {1, 1, nullptr}, &context, nullptr, nullptr),
               ShapeError);
  AttentionConfig config = small();
  config.kv_heads = 3;
  EXPECT_THROW(Layer<float>{config}, ShapeError);
}

}  // namespace
}  // namespace attn
