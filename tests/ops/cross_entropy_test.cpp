#include "ops/cross_entropy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/ops_test_support.h"

namespace attn {
namespace {

TEST(CrossEntropy, ByHand) {
  // Row 0: softmax (1/4, 3/4); row 1 is not counted; row 2: far logits, loss exactly 1000.
  const Tensor<double> logits({3, 2}, {0, std::log(3.0), 5, 6, 0, -1000});
  const std::vector<Index> targets{1, kIgnoreIndex, 1};
  Tensor<double> d_logits({3, 2}, std::vector<double>(6, 99));
  const CrossEntropy got = cross_entropy<double>(logits.matrix(), targets, 0.5, d_logits.matrix());
  EXPECT_EQ(got.counted, 2);
  EXPECT_NEAR(got.loss_sum, std::log(4.0 / 3) + 1000, 1e-12);
  const std::vector<double> want{0.125, -0.125, 0, 0, 0.5, -0.5};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(d_logits.values[i], want[i], 1e-15) << i;
}

TEST(CrossEntropy, GradientMayReplaceTheLogits) {
  auto logits = random_tensor<float>({4, 37}, 1, 3.0);
  const std::vector<Index> targets{0, 36, kIgnoreIndex, 5};
  Tensor<float> apart({4, 37});
  const CrossEntropy want = cross_entropy<float>(logits.matrix(), targets, 0.25F, apart.matrix());
  const CrossEntropy got = cross_entropy<float>(logits.matrix(), targets, 0.25F, logits.matrix());
  EXPECT_EQ(got.loss_sum, want.loss_sum);
  EXPECT_EQ(logits.values, apart.values);
}

TEST(CrossEntropy, GradientEqualsDifferencesOfTheLoss) {
  auto logits = random_tensor<double>({3, 21}, 1, 3.0);
  const std::vector<Index> targets{20, 3, 0};
  Tensor<double> d_logits({3, 21});
  cross_entropy<double>(logits.matrix(), targets, 1.0 / 3, d_logits.matrix());
  const auto loss = [&] {
    return cross_entropy<double>(logits.matrix(), targets, 0, {}).loss_sum / 3;
  };
  expect_gradient(loss, logits.values, d_logits.values, "d_logits");
}

// PyTorch: F.cross_entropy(x, t, label_smoothing=s) is the loss against (1 - s) one_hot + s /
// vocab.
TEST(CrossEntropy, LabelSmoothingIsTheLossAgainstASmearedTarget) {
  constexpr double kSmoothing = 0.1;
  auto logits = random_tensor<double>({3, 21}, 1, 3.0);
  const std::vector<Index> targets{20, kIgnoreIndex, 0};
  double want = 0;
  for (const Index row : {0, 2}) {
    for (Index token = 0; token < 21; ++token) {
      const std::vector<Index> one{token};
      const double share =
          kSmoothing / 21 + (token == targets[static_cast<std::size_t>(row)] ? 1 - kSmoothing : 0);
      want += share * cross_entropy<double>(logits.matrix().row_block(row, 1), one, 0, {}).loss_sum;
    }
  }
  Tensor<double> d_logits({3, 21});
  const auto got =
      cross_entropy<double>(logits.matrix(), targets, 0.5, d_logits.matrix(), kSmoothing);
  EXPECT_NEAR(got.loss_sum, want, 1e-12);
  const auto loss = [&] {
    return cross_entropy<double>(logits.matrix(), targets, 0, {}, kSmoothing).loss_sum / 2;
  };
  expect_gradient(loss, logits.values, d_logits.values, "d_logits");
}

TEST(CrossEntropy, FloatIsNearDouble) {
  for (const Index vocab : {1, 10, 65, 1000}) {
    const auto logits = random_tensor<float>({5, vocab}, 1, 10.0);
    const auto wide = converted<double>(logits);
    const std::vector<Index> targets{0, vocab - 1, vocab / 2, kIgnoreIndex, vocab / 3};
    Tensor<float> d_logits({5, vocab});
    Tensor<double> d_wide({5, vocab});
    const auto got = cross_entropy<float>(logits.matrix(), targets, 1, d_logits.matrix());
    const auto want = cross_entropy<double>(wide.matrix(), targets, 1, d_wide.matrix());
    // exp of an argument up to 20 away from the largest logit: 20 units of rounding at most.
    EXPECT_NEAR(got.loss_sum, want.loss_sum, 4 * 20 * 6e-8);
    for (std::size_t i = 0; i < d_wide.values.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(d_logits.values[i]), d_wide.values[i], 1e-6) << i;
    }
  }
}

TEST(CrossEntropy, TargetsOutsideTheVocabularyAreRefused) {
  const Tensor<float> logits({2, 3});
  for (const Index target : {Index{3}, Index{-1}, Index{-99}}) {
    const std::vector<Index> targets{0, target};
    EXPECT_THROW(cross_entropy<float>(logits.matrix(), targets, 1, {}), ShapeError) << target;
  }
  EXPECT_THROW(cross_entropy<float>(logits.matrix(), std::vector<Index>{0}, 1, {}), ShapeError);
}

}  // namespace
}  // namespace attn
