#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/attend.h"
#include "ops/attend_cases.h"

namespace attn {
namespace {

template <class T>
struct Gradients {
  Tensor<T> d_q, d_k, d_v;
};

// Forward for out and lse, then backward; gradients start from `start`, to show that they add.
template <class T>
Gradients<T> run_backward(const AttendCase& one, const AttendInputs& inputs, T start = 0) {
  const AttendTables<T> tables(one, inputs);
  const Tensor<T> q = converted<T>(inputs.q), k = converted<T>(inputs.k),
                  v = converted<T>(inputs.v), d_out = converted<T>(inputs.d_out);
  const std::vector<KvRun<T>> runs{{k.matrix(), v.matrix()}};
  Tensor<T> out(d_out.shape);
  std::vector<T> lse(static_cast<std::size_t>(one.shape.heads * one.q_len));
  Arena arena;
  attend<T>(one.shape, q.matrix(), std::span<const KvRun<T>>(runs), tables.mask, out.matrix(),
            {.lse = lse.data()}, arena);
  Gradients<T> made{Tensor<T>(q.shape), Tensor<T>(k.shape), Tensor<T>(v.shape)};
  for (Tensor<T>* tensor : {&made.d_q, &made.d_k, &made.d_v}) {
    for (T& value : tensor->values) value = start;
  }
  attend_backward<T>(one.shape, q.matrix(), k.matrix(), v.matrix(), tables.mask, out.matrix(),
                     lse.data(), d_out.matrix(), made.d_q.matrix(), made.d_k.matrix(),
                     made.d_v.matrix(), arena);
  return made;
}

double loss_of(const AttendCase& one, const AttendInputs& inputs) {
  const AttendTables<double> tables(one, inputs);
  const std::vector<KvRun<double>> runs{{inputs.k.matrix(), inputs.v.matrix()}};
  Tensor<double> out(inputs.d_out.shape);
  Arena arena;
  attend<double>(one.shape, inputs.q.matrix(), std::span<const KvRun<double>>(runs), tables.mask,
                 out.matrix(), {}, arena);
  return inner(out.values, inputs.d_out.values);
}

const auto kName = [](const auto& info) { return info.param.name; };

class AttendGradient : public ::testing::TestWithParam<AttendCase> {};

TEST_P(AttendGradient, EqualsDifferencesOfTheLoss) {
  const AttendCase& one = GetParam();
  AttendInputs inputs = make_inputs(one);
  const Gradients<double> got = run_backward<double>(one, inputs);
  const auto loss = [&] { return loss_of(one, inputs); };
  expect_gradient(loss, inputs.q.values, got.d_q.values, "d_q");
  expect_gradient(loss, inputs.k.values, got.d_k.values, "d_k");
  expect_gradient(loss, inputs.v.values, got.d_v.values, "d_v");
}

INSTANTIATE_TEST_SUITE_P(Small, AttendGradient, ::testing::ValuesIn(small_attend_cases()), kName);

// Each element is a sum of up to max(q_len, kv_len) terms; its error in float grows as their root
// with the largest gradient as the unit.
void expect_float_near_double(const AttendCase& one) {
  const AttendInputs inputs = make_inputs(one);
  const Gradients<double> want = run_backward<double>(one, inputs);
  const Gradients<float> got = run_backward<float>(one, inputs);
  const auto compare = [&](const Tensor<float>& x, const Tensor<double>& y, const char* what) {
    double largest = 1e-3;
    for (const double value : y.values) largest = std::max(largest, std::abs(value));
    const double terms = static_cast<double>(std::max({one.q_len, one.kv_len, Index{16}}));
    const double limit = 2e-7 * std::sqrt(terms) * (1 + one.spread * one.spread) * largest;
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(x.values[i]), y.values[i], limit) << what << " at " << i;
    }
  };
  compare(got.d_q, want.d_q, "d_q");
  compare(got.d_k, want.d_k, "d_k");
  compare(got.d_v, want.d_v, "d_v");
}

class AttendBackwardFloat : public ::testing::TestWithParam<AttendCase> {};

TEST_P(AttendBackwardFloat, IsNearDouble) {
  expect_float_near_double(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Small, AttendBackwardFloat, ::testing::ValuesIn(small_attend_cases()),
                         kName);
INSTANTIATE_TEST_SUITE_P(Large, AttendBackwardFloat, ::testing::ValuesIn(large_attend_cases()),
                         kName);

// The formulas, key by key in double, from the naive weights: what differences cannot afford on
// shapes that take many tiles and blocks.
Gradients<double> naive_backward(const AttendCase& one, const AttendInputs& in) {
  const NaiveAttention forward = naive_attention(one, in);
  const HeadShape& shape = one.shape;
  Gradients<double> made{Tensor<double>(in.q.shape), Tensor<double>(in.k.shape),
                         Tensor<double>(in.v.shape)};
  const double scale =
      one.scale != 0 ? one.scale : 1 / std::sqrt(static_cast<double>(shape.head_dim));
  for (Index h = 0; h < shape.heads; ++h) {
    const Index kv = h / shape.group();
    for (Index i = 0; i < one.q_len; ++i) {
      const double* weights = forward.weights.data() + (h * one.q_len + i) * one.kv_len;
      const auto d_weight = [&](Index j) {
        double sum = 0;
        if (is_dropped(dropout_of(one), h, i, j)) return 0.0;
        for (Index d = 0; d < shape.value_dim; ++d) {
          sum += in.d_out.matrix()(i, h * shape.value_dim + d) *
                 in.v.matrix()(j, kv * shape.value_dim + d);
        }
        return sum / (1 - one.dropout);
      };
      double common = 0;
      for (Index j = 0; j < one.kv_len; ++j) common += weights[j] * d_weight(j);
      for (Index j = 0; j < one.kv_len; ++j) {
        if (weights[j] == 0) continue;
        double product = 0;
        for (Index d = 0; d < shape.head_dim; ++d) {
          product +=
              in.q.matrix()(i, h * shape.head_dim + d) * in.k.matrix()(j, kv * shape.head_dim + d);
        }
        double slope = scale;
        if (one.softcap != 0) {
          const double t = std::tanh(scale * product / one.softcap);
          slope *= 1 - t * t;
        }
        const double d_product = weights[j] * (d_weight(j) - common) * slope;
        for (Index d = 0; d < shape.head_dim; ++d) {
          made.d_q.matrix()(i, h * shape.head_dim + d) +=
              d_product * in.k.matrix()(j, kv * shape.head_dim + d);
          made.d_k.matrix()(j, kv * shape.head_dim + d) +=
              d_product * in.q.matrix()(i, h * shape.head_dim + d);
        }
        if (is_dropped(dropout_of(one), h, i, j)) continue;
        for (Index d = 0; d < shape.value_dim; ++d) {
          made.d_v.matrix()(j, kv * shape.value_dim + d) +=
              weights[j] / (1 - one.dropout) * in.d_out.matrix()(i, h * shape.value_dim + d);
        }
      }
    }
  }
  return made;
}

class AttendBackwardLarge : public ::testing::TestWithParam<AttendCase> {};

TEST_P(AttendBackwardLarge, EqualsTheFormulasInDouble) {
  const AttendCase& one = GetParam();
  const AttendInputs inputs = make_inputs(one);
  const Gradients<double> want = naive_backward(one, inputs);
  const Gradients<double> got = run_backward<double>(one, inputs);
  const auto compare = [](const Tensor<double>& x, const Tensor<double>& y, const char* what) {
    // Sums of hundreds of terms of size 1 and exponentials of scores up to 100.
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      ASSERT_NEAR(x.values[i], y.values[i], 1e-12) << what << " at " << i;
    }
  };
  compare(got.d_q, want.d_q, "d_q");
  compare(got.d_k, want.d_k, "d_k");
  compare(got.d_v, want.d_v, "d_v");
}

INSTANTIATE_TEST_SUITE_P(Large, AttendBackwardLarge, ::testing::ValuesIn(large_attend_cases()),
                         kName);

TEST(AttendBackward, AddsToWhatIsThere) {
  for (const Index length : {9, 100}) {
    const AttendCase one{.name = "adds", .q_len = length, .kv_len = length, .causal = true};
    const AttendInputs inputs = make_inputs(one);
    const Gradients<float> zero = run_backward<float>(one, inputs);
    const Gradients<float> three = run_backward<float>(one, inputs, 3.0F);
    for (std::size_t i = 0; i < zero.d_q.values.size(); ++i) {
      ASSERT_NEAR(three.d_q.values[i], zero.d_q.values[i] + 3.0F, 2e-6F) << i;
      ASSERT_NEAR(three.d_k.values[i], zero.d_k.values[i] + 3.0F, 2e-5F) << i;
      ASSERT_NEAR(three.d_v.values[i], zero.d_v.values[i] + 3.0F, 2e-5F) << i;
    }
  }
}

// A key that no row sees gets no gradient and gives none, whatever it holds.
TEST(AttendBackward, HiddenNanHasNoInfluence) {
  for (const Index length : {9, 300}) {
    for (const bool by_table : {false, true}) {
      AttendCase one{.name = "padding", .q_len = length, .kv_len = length};
      AttendInputs inputs = make_inputs(one);
      if (by_table) {
        one.allowed = true;
        inputs.allowed.assign(static_cast<std::size_t>(2 * length * length), 1);
        for (std::size_t i = 0; i < inputs.allowed.size(); ++i) {
          if (i % static_cast<std::size_t>(length) >= static_cast<std::size_t>(length - 2)) {
            inputs.allowed[i] = 0;
          }
        }
      } else {
        one.mask_kv_len = length - 2;
      }
      const Gradients<float> clean = run_backward<float>(one, inputs);
      for (Index j = length - 2; j < length; ++j) {
        for (Index d = 0; d < 16; ++d) {
          inputs.k.matrix()(j, d) = std::numeric_limits<double>::quiet_NaN();
          inputs.v.matrix()(j, d) = std::numeric_limits<double>::infinity();
        }
      }
      const Gradients<float> got = run_backward<float>(one, inputs);
      for (std::size_t i = 0; i < got.d_q.values.size(); ++i) {
        ASSERT_NEAR(got.d_q.values[i], clean.d_q.values[i], 1e-6F) << i;
        ASSERT_NEAR(got.d_k.values[i], clean.d_k.values[i], 1e-6F) << i;
        ASSERT_NEAR(got.d_v.values[i], clean.d_v.values[i], 1e-6F) << i;
      }
      for (Index d = 0; d < 16; ++d) EXPECT_EQ(got.d_v.matrix()(length - 1, d), 0.0F);
    }
  }
}

}  // namespace
}  // namespace attn
