#include "ops/attend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/attend_runs.h"

namespace attn {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

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

}  // namespace
}  // namespace attn
