#include "nn/param_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/norm.h"

namespace attn {
namespace {

TEST(ParamStore, LaysParametersOneAfterAnother) {
  ParamStore<float> params;
  const Param a = params.add("a", {2, 3}, {Init::kZeros});
  const Param b = params.add("b", {4}, {Init::kOnes});
  EXPECT_EQ(params.size(), 10);
  EXPECT_EQ(params.values(), nullptr) << "no memory before allocate()";
  params.allocate();
  EXPECT_EQ(a.offset, 0);
  EXPECT_EQ(b.offset, 6);
  EXPECT_EQ(b.in(params.values()).cols(), 4);
  EXPECT_EQ(params.find("b")->shape, (Shape{4}));
  EXPECT_EQ(params.find("c"), nullptr);
  EXPECT_THROW(params.add("late", {1}, {Init::kZeros}), ShapeError);
}

TEST(ParamStore, FindsByName) {
  ParamStore<float> params;
  // As many as a model of 4000 blocks has: a search one by one would take minutes.
  constexpr Index kMany = 50000;
  for (Index i = 0; i < kMany; ++i) params.add("p" + std::to_string(i), {2}, {Init::kZeros});
  for (Index i = 0; i < kMany; ++i) {
    const ParamInfo* info = params.find("p" + std::to_string(i));
    ASSERT_NE(info, nullptr);
    ASSERT_EQ(info->place.offset, 2 * i);
  }
  EXPECT_EQ(params.find("p"), nullptr);
}

TEST(ParamStore, RefusesANameTwice) {
  ParamStore<float> params;
  params.add("a", {1}, {Init::kZeros});
  EXPECT_THROW(params.add("a", {1}, {Init::kZeros}), ShapeError);
}

struct Moments {
  double mean = 0;
  double deviation = 0;
  double most = 0;
};

Moments moments(const ParamStore<float>& params, const std::string& name) {
  const ParamInfo* info = params.find(name);
  const float* value = params.values() + info->place.offset;
  Moments found;
  const auto count = static_cast<double>(info->place.size());
  for (Index i = 0; i < info->place.size(); ++i) {
    found.mean += value[i] / count;
    found.deviation += static_cast<double>(value[i]) * value[i] / count;
    found.most = std::max(found.most, std::abs(static_cast<double>(value[i])));
  }
  found.deviation = std::sqrt(found.deviation);
  return found;
}

// PyTorch's distributions: Linear uniform within 1/sqrt(64) = 0.125, whose deviation is
// 0.125/sqrt(3) = 0.0722; Embedding standard normal; norms 1 and 0. Of 16384 numbers a deviation
// is off by 0.6 %, so 3 % is never chance.
TEST(ParamStore, InitialisesAsPyTorch) {
  ParamStore<float> params;
  const Linear<float> linear(params, "linear", 64, 256, true);
  const Embedding<float> embedding(params, "tokens", 256, 64);
  const Norm<float> norm(params, "norm", 64, NormType::kLayerNorm, 1e-5);
  params.allocate();
  params.initialise(7);
  const Moments weight = moments(params, "linear.weight");
  EXPECT_NEAR(weight.deviation, 0.0722, 0.0022);
  EXPECT_NEAR(weight.mean, 0, 0.003);
  EXPECT_LE(weight.most, 0.125);
  EXPECT_GT(weight.most, 0.124);
  const Moments bias = moments(params, "linear.bias");
  EXPECT_LE(bias.most, 0.125);
  EXPECT_GT(bias.most, 0.1) << "a Linear's bias does not start at 0";
  const Moments tokens = moments(params, "tokens.weight");
  EXPECT_NEAR(tokens.deviation, 1, 0.03);
  EXPECT_NEAR(tokens.mean, 0, 0.04);
  EXPECT_GT(tokens.most, 3);
  EXPECT_EQ(moments(params, "norm.weight").mean, 1);
  EXPECT_EQ(moments(params, "norm.bias").most, 0);
}

// A sample's deviation over n normal numbers is off by 1/sqrt(2 n) of itself, its mean by
// deviation/sqrt(n): five times as much is never chance.
void expect_normal(const ParamStore<float>& params, const std::string& name, double deviation) {
  const Moments found = moments(params, name);
  const auto count = static_cast<double>(params.find(name)->place.size());
  EXPECT_NEAR(found.deviation, deviation, 5 * deviation / std::sqrt(2 * count)) << name;
  EXPECT_NEAR(found.mean, 0, 5 * deviation / std::sqrt(count)) << name;
}

TEST(ParamStore, InitialisesAsGpt2) {
  ParamStore<float> params;
  const Linear<float> linear(params, "linear", 64, 256, true);
  const Linear<float> residual(params, "residual", 256, 64, true, 16);
  const Embedding<float> embedding(params, "tokens", 256, 64);
  const Norm<float> norm(params, "norm", 64, NormType::kLayerNorm, 1e-5);
  params.allocate();
  params.initialise(7, InitScheme::kGpt2);
  expect_normal(params, "linear.weight", 0.02);
  expect_normal(params, "residual.weight", 0.005);
  expect_normal(params, "tokens.weight", 0.02);
  EXPECT_GT(moments(params, "linear.weight").most, 0.06) << "normal, not uniform";
  EXPECT_EQ(moments(params, "linear.bias").most, 0);
  EXPECT_EQ(moments(params, "residual.bias").most, 0);
  EXPECT_EQ(moments(params, "norm.weight").mean, 1);
  EXPECT_EQ(moments(params, "norm.bias").most, 0);
}

// A uniform number within a deviates by a / sqrt(3): sqrt(2 / (in + out)).
TEST(ParamStore, InitialisesAsXavier) {
  ParamStore<float> params;
  const Linear<float> linear(params, "linear", 64, 192, true);
  const Embedding<float> embedding(params, "tokens", 256, 64);
  const Norm<float> norm(params, "norm", 64, NormType::kLayerNorm, 1e-5);
  params.allocate();
  params.initialise(7, InitScheme::kXavier);
  expect_normal(params, "linear.weight", std::sqrt(2.0 / 256));
  EXPECT_LE(moments(params, "linear.weight").most, std::sqrt(6.0 / 256) + 1e-7) << "uniform";
  EXPECT_EQ(moments(params, "linear.bias").most, 0);
  expect_normal(params, "tokens.weight", 1);
  EXPECT_EQ(moments(params, "norm.weight").mean, 1);
}

TEST(ParamStore, EachParameterHasItsOwnStream) {
  ParamStore<float> one, two;
  one.add("a", {8}, {Init::kNormal});
  one.add("b", {8}, {Init::kNormal});
  two.add("a", {100}, {Init::kNormal});
  two.add("b", {8}, {Init::kNormal});
  one.allocate();
  two.allocate();
  one.initialise(3);
  two.initialise(3);
  EXPECT_TRUE(std::equal(one.values(), one.values() + 8, two.values()));
  EXPECT_TRUE(std::equal(one.values() + 8, one.values() + 16, two.values() + 100));
  EXPECT_FALSE(std::equal(one.values(), one.values() + 8, one.values() + 8));
  two.initialise(4);
  EXPECT_FALSE(std::equal(one.values(), one.values() + 8, two.values()));
}

}  // namespace
}  // namespace attn
