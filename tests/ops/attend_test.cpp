#include "ops/attend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/attend_cases.h"
#include "ops/attend_runs.h"

namespace attn {
namespace {

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
