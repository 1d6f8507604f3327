#include <gtest/gtest.h>

#include <cmath>

#include "core/rng.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/mlp.h"
#include "nn/norm.h"

namespace attn {
namespace {

template <class T>
void set(ParamStore<T>& params, const std::string& name, const std::vector<T>& values) {
  const ParamInfo* info = params.find(name);
  ASSERT_NE(info, nullptr) << name;
  ASSERT_EQ(info->place.size(), static_cast<Index>(values.size())) << name;
  std::copy(values.begin(), values.end(), params.values() + info->place.offset);
}

TEST(Linear, IsTheRowTimesTheTransposedMatrixAndTheBias) {
  ParamStore<double> params;
  const Linear<double> linear(params, "l", 2, 3, true);
  params.allocate();
  set(params, "l.weight", {1, 2, 3, 4, 5, 6});  // (out, in)
  set(params, "l.bias", {10, 20, 30});
  Workspace work;
  std::vector<double> x = {1, 1, 2, -1};
  const Matrix<double> y = linear.forward({params.values(), work}, Matrix<double>(x.data(), 2, 2));
  EXPECT_EQ(std::vector<double>(y.data(), y.data() + 6),
            (std::vector<double>{13, 27, 41, 10, 22, 34}));

  // d_y is one in the first row's second output: its matrix row is d_x, x is its row of d_weight.
  std::vector<double> d_y = {0, 1, 0, 0, 0, 0};
  std::vector<double> d_x(4, 0.5);
  std::vector<double> gradients(9, 0.0);
  linear.backward({params.values(), gradients.data(), work.arena()}, Matrix<double>(x.data(), 2, 2),
                  Matrix<double>(d_y.data(), 2, 3), Matrix<double>(d_x.data(), 2, 2));
  EXPECT_EQ(gradients, (std::vector<double>{0, 0, 1, 1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(d_x, (std::vector<double>{3.5, 4.5, 0.5, 0.5})) << "backward adds";
}

// Blocks of rows, and blocks of outputs for few rows, are fixed: threads change no bit, and every
// block is there.
TEST(Linear, ThreadsChangeNoBit) {
  ParamStore<float> params;
  const Linear<float> linear(params, "l", 1100, 2001, true);
  params.allocate();
  params.initialise(1);
  for (const Index rows : {1, 300}) {
    std::vector<float> x(static_cast<std::size_t>(rows * 1100));
    Rng rng(2, RandomPurpose::kExample);
    for (float& value : x) value = static_cast<float>(rng.normal());
    const Matrix<float> view(x.data(), rows, 1100);
    Workspace one(1);
    const Matrix<float> expected = linear.forward({params.values(), one}, view);
    for (const int threads : {2, 3, 8}) {
      Workspace work(threads);
      const Matrix<float> y = linear.forward({params.values(), work}, view);
      EXPECT_TRUE(std::equal(y.data(), y.data() + y.size(), expected.data())) << threads;
    }
    // Against plain sums: 1100 products of numbers near 1/33 and 1 round to about 1e-6.
    for (const Index row : {Index{0}, rows - 1}) {
      for (const Index out : {Index{0}, Index{63}, Index{64}, Index{2000}}) {
        double sum = params.values()[params.find("l.bias")->place.offset + out];
        for (Index i = 0; i < 1100; ++i) {
          sum += static_cast<double>(view(row, i)) * params.values()[out * 1100 + i];
        }
        EXPECT_NEAR(expected(row, out), sum, 1e-5);
      }
    }
  }
}

TEST(Embedding, LooksUpAndAddsBack) {
  ParamStore<double> params;
  const Embedding<double> embedding(params, "tokens", 3, 2);
  params.allocate();
  set(params, "tokens.weight", {1, 2, 3, 4, 5, 6});
  Workspace work;
  const std::vector<Index> ids = {2, 0, 2};
  const Matrix<double> y = embedding.forward({params.values(), work}, ids);
  EXPECT_EQ(std::vector<double>(y.data(), y.data() + 6), (std::vector<double>{5, 6, 1, 2, 5, 6}));
  std::vector<double> gradients(6, 0.0);
  embedding.backward({params.values(), gradients.data(), work.arena()}, ids, y);
  EXPECT_EQ(gradients, (std::vector<double>{1, 2, 0, 0, 10, 12})) << "a repeated id adds up";
  for (const Index outside : {-1, 3}) {
    EXPECT_THROW(embedding.forward({params.values(), work}, std::span(&outside, 1)), ShapeError);
  }
}

TEST(Norm, LayerNormHasWeightAndBiasRmsNormWeightAlone) {
  ParamStore<double> params;
  const Norm<double> layer(params, "a", 2, NormType::kLayerNorm, 0.0);
  const Norm<double> rms(params, "b", 2, NormType::kRmsNorm, 0.0);
  params.allocate();
  EXPECT_NE(params.find("a.bias"), nullptr);
  EXPECT_EQ(params.find("b.bias"), nullptr);
  params.initialise(0);
  Workspace work;
  std::vector<double> x = {1, 7};
  const Matrix<double> row(x.data(), 1, 2);
  const Matrix<double> y = layer.forward({params.values(), work}, row, nullptr);
  EXPECT_DOUBLE_EQ(y(0, 0), -1);
  EXPECT_DOUBLE_EQ(y(0, 1), 1);
  const Matrix<double> z = rms.forward({params.values(), work}, row, nullptr);
  EXPECT_DOUBLE_EQ(z(0, 0), 0.2);  // sqrt((1 + 49) / 2) = 5
  EXPECT_DOUBLE_EQ(z(0, 1), 1.4);
}

TEST(Norm, LayerNormDoesWithoutABias) {
  ParamStore<double> params;
  const Norm<double> norm(params, "a", 2, NormType::kLayerNorm, 0.0, false);
  params.allocate();
  ASSERT_EQ(params.list().size(), 1U);
  set(params, "a.weight", {3, 3});
  Workspace work;
  const Pass<double> pass{params.values(), work};
  std::vector<double> x = {1, 7};
  NormTape<double> tape;
  const Matrix<double> y = norm.forward(pass, Matrix<double>(x.data(), 1, 2), &tape);
  EXPECT_DOUBLE_EQ(y(0, 0), -3);
  EXPECT_DOUBLE_EQ(y(0, 1), 3);
  std::vector<double> gradients(2, 0.0);
  std::vector<double> d_y = {5, 7};
  std::vector<double> d_x(2, 0.0);
  norm.backward({params.values(), gradients.data(), work.arena()}, tape,
                Matrix<double>(d_y.data(), 1, 2), Matrix<double>(d_x.data(), 1, 2));
  EXPECT_EQ(gradients, (std::vector<double>{-5, 7})) << "d_y times the normalised x";
}

TEST(Mlp, ReluPassesWhatIsPositive) {
  ParamStore<double> params;
  const Mlp<double> mlp(params, "mlp", 1, 2, MlpActivation::kRelu, true);
  params.allocate();
  set(params, "mlp.fc1.weight", {1, -1});
  set(params, "mlp.fc2.weight", {2, 3});
  set(params, "mlp.fc2.bias", {10});
  Workspace work;
  std::vector<double> x = {4, -5};
  const Matrix<double> y =
      mlp.forward({params.values(), work}, Matrix<double>(x.data(), 2, 1), nullptr);
  EXPECT_DOUBLE_EQ(y(0, 0), 18);
  EXPECT_DOUBLE_EQ(y(1, 0), 25);
}

TEST(Mlp, SwigluIsTheGateTimesUp) {
  ParamStore<double> params;
  const Mlp<double> mlp(params, "mlp", 1, 1, MlpActivation::kSwiglu, false);
  params.allocate();
  ASSERT_EQ(params.list().size(), 3U);
  set(params, "mlp.gate_proj.weight", {1});
  set(params, "mlp.up_proj.weight", {3});
  set(params, "mlp.down_proj.weight", {2});
  Workspace work;
  double x = 2;
  const Matrix<double> y = mlp.forward({params.values(), work}, Matrix<double>(&x, 1, 1), nullptr);
  EXPECT_NEAR(y(0, 0), 2 * (2 / (1 + std::exp(-2.0))) * 6, 1e-15);
}

}  // namespace
}  // namespace attn
