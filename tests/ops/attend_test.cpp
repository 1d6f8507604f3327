#include "ops/attend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/attend_cases.h"

namespace attn {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The largest gap, over numbers that may be minus infinity in both.
template <class T>
void expect_close(const std::vector<T>& got, const std::vector<double>& want, double tolerance,
                  const char* what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double value = static_cast<double>(got[i]);
    if (std::isinf(want[i])) {
      ASSERT_EQ(value, want[i]) << what << " at " << i;
    } else {
      ASSERT_NEAR(value, want[i], tolerance) << what << " at " << i;
    }
  }
}

template <class T>
struct Attended {
  std::vector<T> out, lse, weights, scores;
};

template <class T>
Attended<T> run_attend(const AttendCase& one, const AttendInputs& inputs, bool with_maps = true) {
  const AttendTables<T> tables(one, inputs);
  const Tensor<T> q = converted<T>(inputs.q), k = converted<T>(inputs.k),
                  v = converted<T>(inputs.v);
  const std::vector<KvRun<T>> runs = make_runs(one, k, v);
  Tensor<T> out({one.q_len, one.shape.heads * one.shape.value_dim});
  for (T& value : out.values) value = static_cast<T>(kNan);  // must be written, not added to
  const auto rows = static_cast<std::size_t>(one.shape.heads * one.q_len);
  Attended<T> result;
  result.lse.assign(rows, static_cast<T>(kNan));
  AttendProbe<T> probe{.lse = result.lse.data()};
  if (with_maps) {
    result.weights.assign(rows * static_cast<std::size_t>(one.kv_len), static_cast<T>(kNan));
    result.scores = result.weights;
    probe.weights = result.weights.data();
    probe.scores = result.scores.data();
  }
  Arena arena;
  attend<T>(one.shape, q.matrix(), std::span<const KvRun<T>>(runs), tables.mask, out.matrix(),
            probe, arena);
  result.out = out.values;
  return result;
}

// Scores are sums of head_dim products below spread^2, scaled; exp turns their absolute error
// into a relative one of the weights.
template <class T>
double tolerance(const AttendCase& one) {
  const double products =
      one.spread * one.spread * std::sqrt(static_cast<double>(one.shape.head_dim));
  return (8 + 4 * products) * static_cast<double>(std::numeric_limits<T>::epsilon()) *
         (one.softcap != 0 || one.alibi || one.bias ? 4 : 1);
}

template <class T>
void expect_attend_is_right(const AttendCase& one) {
  const AttendInputs inputs = make_inputs(one);
  const NaiveAttention want = naive_attention(one, inputs);
  const Attended<T> got = run_attend<T>(one, inputs);
  const double limit = tolerance<T>(one);
  expect_close(got.out, want.out, limit, "out");
  expect_close(got.weights, want.weights, limit, "weights");
  expect_close(got.scores, want.scores, 4 * limit, "scores");
  expect_close(got.lse, want.lse, 4 * limit, "lse");
  for (std::size_t i = 0; i < got.weights.size(); ++i) {
    if (std::isinf(want.scores[i])) {
      ASSERT_EQ(got.weights[i], T{0}) << "hidden key at " << i;
    }
  }
  // Looking does not change the result.
  const Attended<T> plain = run_attend<T>(one, inputs, false);
  EXPECT_EQ(plain.out, got.out);
  EXPECT_EQ(plain.lse, got.lse);
}

class Attend : public ::testing::TestWithParam<AttendCase> {};

TEST_P(Attend, EqualsTheDefinitionInDouble) {
  expect_attend_is_right<double>(GetParam());
}
TEST_P(Attend, EqualsTheDefinitionInFloat) {
  expect_attend_is_right<float>(GetParam());
}

// Keys of small pages come several to a tile, and are summed in the same order. One query reads
// them row by row, and so whatever the pages' size.
TEST_P(Attend, PagesGiveTheBitsOfOneRun) {
  AttendCase one = GetParam();
  const AttendInputs inputs = make_inputs(one);
  one.runs = {};
  const Attended<float> want = run_attend<float>(one, inputs);
  for (const Index page : {1, 3, 16}) {
    if (page < 16 && one.q_len > 1) continue;
    one.runs = {};
    for (Index first = 0; first < one.kv_len; first += page) {
      one.runs.push_back(std::min<Index>(page, one.kv_len - first));
    }
    const Attended<float> got = run_attend<float>(one, inputs);
    EXPECT_EQ(got.out, want.out) << page;
    EXPECT_EQ(got.weights, want.weights) << page;
    EXPECT_EQ(got.lse, want.lse) << page;
  }
}

const auto kName = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Small, Attend, ::testing::ValuesIn(small_attend_cases()), kName);
INSTANTIATE_TEST_SUITE_P(Large, Attend, ::testing::ValuesIn(large_attend_cases()), kName);

// The tutorial's worked example: q = k = v = (1, 0), (0, 1), (1, 1).
TEST(AttendByHand, ThreeTokens) {
  const Tensor<double> x({3, 2}, {1, 0, 0, 1, 1, 1});
  const std::vector<KvRun<double>> runs{{x.matrix(), x.matrix()}};
  Tensor<double> out({3, 2});
  std::vector<double> weights(9), scores(9), lse(3);
  Arena arena;
  attend<double>({1, 1, 2, 2}, x.matrix(), std::span<const KvRun<double>>(runs), {}, out.matrix(),
                 {lse.data(), weights.data(), scores.data()}, arena);
  // Three digits, as printed there.
  expect_close(scores, {0.707, 0, 0.707, 0, 0.707, 0.707, 0.707, 0.707, 1.414}, 5e-4, "scores");
  expect_close(weights, {0.401, 0.198, 0.401, 0.198, 0.401, 0.401, 0.248, 0.248, 0.503}, 5e-4,
               "weights");
  expect_close(out.values, {0.802, 0.599, 0.599, 0.802, 0.752, 0.752}, 5e-4, "out");
  EXPECT_NEAR(lse[0], std::log(2 * std::exp(std::sqrt(0.5)) + 1), 1e-15);
}

// Poison in keys and values that a row may not see must not reach it, in no way of hiding them.
template <class T>
void expect_no_influence(const AttendCase& one) {
  const AttendInputs clean = make_inputs(one);
  AttendInputs poisoned = clean;
  const NaiveAttention want = naive_attention(one, clean);
  // Poison every key that no row of any head sees.
  for (Index j = 0; j < one.kv_len; ++j) {
    bool seen = false;
    for (Index r = 0; r < one.shape.heads * one.q_len; ++r) {
      if (!std::isinf(want.scores[static_cast<std::size_t>(r * one.kv_len + j)])) seen = true;
    }
    if (seen) continue;
    for (Index d = 0; d < poisoned.k.dim(1); ++d) poisoned.k.matrix()(j, d) = kNan;
    for (Index d = 0; d < poisoned.v.dim(1); ++d) {
      poisoned.v.matrix()(j, d) = std::numeric_limits<double>::infinity();
    }
  }
  const Attended<T> got = run_attend<T>(one, poisoned);
  expect_close(got.out, want.out, tolerance<T>(one), "out");
  expect_close(got.weights, want.weights, tolerance<T>(one), "weights");
}

// Rows 0 .. n-2 do not see the last key; the last row does and is poisoned by it.
template <class T>
void expect_poison_stays_in_its_row(const AttendCase& one, bool poison_values) {
  AttendInputs inputs = make_inputs(one);
  const NaiveAttention want = naive_attention(one, inputs);
  auto& target = poison_values ? inputs.v : inputs.k;
  for (Index d = 0; d < target.dim(1); ++d) target.matrix()(one.kv_len - 1, d) = kNan;
  const Attended<T> got = run_attend<T>(one, inputs);
  const Index width = one.shape.heads * one.shape.value_dim;
  for (Index i = 0; i < one.q_len; ++i) {
    for (Index c = 0; c < width; ++c) {
      const auto at = static_cast<std::size_t>(i * width + c);
      if (i == one.q_len - 1) {
        ASSERT_TRUE(std::isnan(got.out[at])) << i << ", " << c;
      } else {
        ASSERT_NEAR(static_cast<double>(got.out[at]), want.out[at], tolerance<T>(one))
            << i << ", " << c;
      }
    }
  }
}

TEST(AttendHidden, NanInPaddingHasNoInfluence) {
  for (const Index length : {9, 300}) {
    AttendCase one{.name = "padding", .q_len = length, .kv_len = length, .mask_kv_len = length - 4};
    expect_no_influence<float>(one);
    expect_no_influence<double>(one);
    one.window_left = 3;
    one.causal = true;
    expect_no_influence<float>(one);
  }
}

TEST(AttendHidden, NanInTheFutureStaysThere) {
  for (const Index length : {9, 40, 300}) {
    for (const bool values : {false, true}) {
      const AttendCase one{.name = "future", .q_len = length, .kv_len = length, .causal = true};
      expect_poison_stays_in_its_row<float>(one, values);
      expect_poison_stays_in_its_row<double>(one, values);
    }
  }
}

TEST(AttendHidden, NanUnderATableStaysThere) {
  for (const Index length : {9, 200}) {
    const AttendCase one{.name = "table", .q_len = length, .kv_len = length};
    for (const bool by_bias : {false, true}) {
      for (const bool poison_values : {false, true}) {
        AttendInputs inputs = make_inputs(one);
        const auto cells = static_cast<std::size_t>(length * length);
        std::vector<float> bias(cells, 0.25F);
        std::vector<std::uint8_t> allowed(cells, 1);
        for (Index i = 0; i < length; ++i) {
          bias[static_cast<std::size_t>(i * length + 2)] = -std::numeric_limits<float>::infinity();
          allowed[static_cast<std::size_t>(i * length + 2)] = 0;
        }
        AttendMask<float> mask;
        if (by_bias) mask.bias = {bias.data(), 0, length, 1};
        if (!by_bias) mask.allowed = {allowed.data(), 0, length, 1};
        Tensor<float> q = converted<float>(inputs.q), k = converted<float>(inputs.k),
                      v = converted<float>(inputs.v);
        Tensor<float> clean({length, 16}), got({length, 16});
        Arena arena;
        const std::vector<KvRun<float>> runs{{k.matrix(), v.matrix()}};
        attend<float>(one.shape, q.matrix(), std::span<const KvRun<float>>(runs), mask,
                      clean.matrix(), {}, arena);
        Tensor<float>& target = poison_values ? v : k;
        for (Index d = 0; d < 16; ++d) target.matrix()(2, d) = static_cast<float>(kNan);
        attend<float>(one.shape, q.matrix(), std::span<const KvRun<float>>(runs), mask,
                      got.matrix(), {}, arena);
        // The path taken may differ, so last bits may; no NaN may.
        for (std::size_t i = 0; i < got.values.size(); ++i) {
          ASSERT_NEAR(got.values[i], clean.values[i], 1e-6F) << i;
        }
      }
    }
  }
}

TEST(AttendHidden, RowsThatSeeNothingGiveZeros) {
  const AttendCase one{.name = "dead", .causal = true, .offset = -7, .sinks = true};
  const Attended<float> got = run_attend<float>(one, make_inputs(one));
  for (const float value : got.out) EXPECT_EQ(value, 0.0F);
  for (const float value : got.lse) EXPECT_EQ(value, -std::numeric_limits<float>::infinity());
}

TEST(AttendVisible, NanInASeenKeyIsNotHidden) {
  for (const Index length : {9, 200}) {
    AttendCase one{.name = "seen", .q_len = length, .kv_len = length};
    AttendInputs inputs = make_inputs(one);
    inputs.k.matrix()(4, 0) = kNan;  // head 0 only
    const Attended<float> got = run_attend<float>(one, inputs);
    for (Index i = 0; i < length; ++i) {
      for (Index c = 0; c < 16; ++c) {
        EXPECT_EQ(std::isnan(got.out[static_cast<std::size_t>(i * 16 + c)]), c < 8);
      }
    }
  }
}

// Large logits: without the running maximum exp would overflow.
TEST(AttendVisible, LargeScoresDoNotOverflow) {
  const Tensor<float> q({1, 1}, {1000}), k({3, 1}, {100, 99, -100}), v({3, 1}, {3, 5, 7});
  const std::vector<KvRun<float>> runs{{k.matrix(), v.matrix()}};
  Tensor<float> out({1, 1});
  Arena arena;
  attend<float>({1, 1, 1, 1}, q.matrix(), std::span<const KvRun<float>>(runs), {}, out.matrix(), {},
                arena);
  EXPECT_EQ(out.values[0], 3.0F);
}

// Where numbers lie in memory changes no bit, nor does what an arena held before.
TEST(AttendBits, DoNotDependOnAlignment) {
  for (const AttendCase& one : large_attend_cases()) {
    const AttendInputs inputs = make_inputs(one);
    const AttendTables<float> tables(one, inputs);
    Arena arena;
    std::vector<float> first;
    for (const std::size_t shift : {0U, 1U, 7U}) {
      const auto moved = [&](const Tensor<double>& from) {
        std::vector<float> made(shift);
        for (const double value : from.values) made.push_back(static_cast<float>(value));
        return made;
      };
      const std::vector<float> q = moved(inputs.q), k = moved(inputs.k), v = moved(inputs.v);
      std::vector<float> out(inputs.d_out.values.size() + shift);
      const auto view = [&](const std::vector<float>& data, const Tensor<double>& like) {
        return Matrix<const float>(data.data() + shift, like.dim(0), like.dim(1));
      };
      const std::vector<KvRun<float>> runs{{view(k, inputs.k), view(v, inputs.v)}};
      const Matrix<float> result(out.data() + shift, one.q_len, inputs.d_out.dim(1));
      attend<float>(one.shape, view(q, inputs.q), std::span<const KvRun<float>>(runs), tables.mask,
                    result, {}, arena);
      const std::vector<float> got(out.begin() + static_cast<std::ptrdiff_t>(shift), out.end());
      if (first.empty()) first = got;
      EXPECT_EQ(got, first) << one.name;
    }
  }
}

// Blocks of rows by calls of their own, as threads share the work, agree with one call.
TEST(AttendRows, MayBeSplitOverCalls) {
  const AttendCase one{.name = "split",
                       .shape = {2, 1, 16, 16},
                       .q_len = 50,
                       .kv_len = 60,
                       .causal = true,
                       .offset = 10,
                       .window_left = 30};
  const AttendInputs inputs = make_inputs(one);
  const Attended<double> whole = run_attend<double>(one, inputs, false);
  const Index width = one.shape.heads * one.shape.value_dim;
  for (Index row = 0; row < one.q_len; row += 20) {
    AttendCase part = one;
    part.q_len = std::min<Index>(20, one.q_len - row);
    part.offset = one.offset + row;
    AttendInputs rows = inputs;
    const auto cut = [&](const Tensor<double>& from) {
      const auto begin = from.values.begin() + row * from.dim(1);
      return Tensor<double>({part.q_len, from.dim(1)},
                            std::vector<double>(begin, begin + part.q_len * from.dim(1)));
    };
    rows.q = cut(inputs.q);
    rows.d_out = cut(inputs.d_out);
    const Attended<double> got = run_attend<double>(part, rows, false);
    for (Index i = 0; i < part.q_len * width; ++i) {
      ASSERT_NEAR(got.out[static_cast<std::size_t>(i)],
                  whole.out[static_cast<std::size_t>(row * width + i)], 1e-14);
    }
  }
}

TEST(AttendShapes, DisagreementIsRefused) {
  const Tensor<float> q({2, 8}), k({3, 8}), v({3, 8}), short_v({2, 8});
  Tensor<float> out({2, 8});
  Arena arena;
  const auto run = [&](const HeadShape& shape, const Tensor<float>& values) {
    const std::vector<KvRun<float>> runs{{k.matrix(), values.matrix()}};
    attend<float>(shape, q.matrix(), std::span<const KvRun<float>>(runs), {}, out.matrix(), {},
                  arena);
  };
  EXPECT_NO_THROW(run({2, 2, 4, 4}, v));
  EXPECT_THROW(run({2, 2, 3, 4}, v), ShapeError);
  EXPECT_THROW(run({3, 2, 4, 4}, v), ShapeError);
  EXPECT_THROW(run({2, 2, 4, 4}, short_v), ShapeError);
}

}  // namespace
}  // namespace attn
