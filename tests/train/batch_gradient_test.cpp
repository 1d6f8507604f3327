#include "train/batch_gradient.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "core/rng.h"
#include "train/progressions.h"
#include "train_helpers.h"

namespace attn {
namespace {

ModelConfig tiny_of(Arch arch) {
  ModelConfig config = tiny();
  config.arch = arch;
  if (arch == Arch::kEncoderDecoder) {
    config.source_vocab_size = 12;
    config.encoder_depth = 1;
  }
  return config.completed();
}

// Sequences of random lengths, padded to seq_len with id 0 and no target.
Batch padded(Arch arch, Index sequences, Index seq_len) {
  Rng rng(7, RandomPurpose::kExample);
  Batch batch;
  batch.batch = sequences;
  batch.seq_len = seq_len;
  if (arch == Arch::kEncoderDecoder) batch.source_len = seq_len + 2;
  for (Index row = 0; row < sequences; ++row) {
    const Index length = 3 + rng.below(seq_len - 2);
    for (Index i = 0; i < seq_len; ++i) {
      const bool real = i < length;
      batch.ids.push_back(real ? rng.below(10) : 0);
      batch.targets.push_back(real ? rng.below(10) : kIgnoreIndex);
      batch.key_mask.push_back(real ? 1 : 0);
    }
    const Index source_length = 1 + rng.below(seq_len);
    for (Index i = 0; i < batch.source_len; ++i) {
      const bool real = i < source_length;
      batch.source.push_back(real ? rng.below(12) : 0);
      batch.source_mask.push_back(real ? 1 : 0);
    }
  }
  return batch;
}

// One sequence of it, cut to the columns that are real.
Batch single(const Batch& batch, Index row) {
  const auto cut = [&](const auto& all, const std::vector<std::uint8_t>& mask, Index each) {
    std::decay_t<decltype(all)> part;
    for (Index i = row * each; i < (row + 1) * each; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (mask[at] != 0) part.push_back(all[at]);
    }
    return part;
  };
  Batch one;
  one.batch = 1;
  one.ids = cut(batch.ids, batch.key_mask, batch.seq_len);
  one.targets = cut(batch.targets, batch.key_mask, batch.seq_len);
  one.seq_len = static_cast<Index>(one.ids.size());
  one.source = cut(batch.source, batch.source_mask, batch.source_len);
  one.source_len = static_cast<Index>(one.source.size());
  return one;
}

class BatchGradientOf : public ::testing::TestWithParam<Arch> {};

// Padding and chunks change nothing: a batch is its sequences one by one, each without padding.
// With dropout too: what is hidden of a sequence depends on its number in the update.
TEST_P(BatchGradientOf, APaddedBatchIsItsSequences) {
  const ModelConfig config = tiny_of(GetParam());
  Transformer<double> model(config);
  model.params().initialise(3);
  const Index sequences = 2 * chunk_sequences(config, 9, 11) + 2;
  const Batch batch = padded(GetParam(), sequences, 9);
  const auto size = static_cast<std::size_t>(model.params().size());
  BatchGradient<double> gradient(model, 2);
  for (const double rate : {0.0, 0.3}) {
    GradientOptions options;
    options.dropout = {rate, 5, 2, 0};
    std::vector<double> found(size);
    const double loss = gradient.compute(batch, found.data(), options);

    std::vector<double> sums(size, 0.0), one_gradient(size);
    double loss_sum = 0;
    Index targets = 0;
    for (Index row = 0; row < sequences; ++row) {
      const Batch one = single(batch, row);
      const auto counted = static_cast<double>(one.targets.size());
      options.dropout.first_sequence = row;
      loss_sum += gradient.compute(one, one_gradient.data(), options) * counted;
      for (std::size_t i = 0; i < size; ++i) sums[i] += one_gradient[i] * counted;
      targets += static_cast<Index>(one.targets.size());
    }
    const auto all = static_cast<double>(targets);
    EXPECT_NEAR(loss, loss_sum / all, 1e-12);
    for (std::size_t i = 0; i < size; ++i) ASSERT_NEAR(found[i], sums[i] / all, 1e-12);
  }
}

TEST_P(BatchGradientOf, EvaluationIsOverTheSequences) {
  Transformer<double> model(tiny_of(GetParam()));
  model.params().initialise(3);
  const Batch batch = padded(GetParam(), 40, 9);
  BatchGradient<double> gradient(model, 2);
  double loss = 0, right = 0, exact = 0;
  Index targets = 0;
  for (Index row = 0; row < batch.batch; ++row) {
    const Batch one = single(batch, row);
    const Evaluation evaluation = gradient.evaluate(one);
    loss += evaluation.loss * static_cast<double>(evaluation.counted);
    right += evaluation.accuracy * static_cast<double>(evaluation.counted);
    exact += evaluation.exact;
    targets += evaluation.counted;
  }
  const Evaluation whole = gradient.evaluate(batch);
  EXPECT_EQ(whole.counted, targets);
  EXPECT_NEAR(whole.loss, loss / static_cast<double>(targets), 1e-12);
  EXPECT_NEAR(whole.accuracy, right / static_cast<double>(targets), 1e-12);
  EXPECT_NEAR(whole.exact, exact / 40, 1e-12);
}

TEST_P(BatchGradientOf, ThreadsChangeNoBit) {
  const ModelConfig config = tiny_of(GetParam());
  Transformer<float> model(config);
  model.params().initialise(3);
  const Batch batch = padded(GetParam(), 5 * chunk_sequences(config, 9, 11) + 1, 9);
  GradientOptions options;
  options.dropout = {0.2, 4, 17, 0};
  options.label_smoothing = 0.1;
  const auto run = [&](int threads) {
    std::vector<float> gradients(static_cast<std::size_t>(model.params().size()));
    BatchGradient<float> gradient(model, threads);
    const double loss = gradient.compute(batch, gradients.data(), options);
    return std::pair(loss, gradients);
  };
  const auto expected = run(1);
  EXPECT_EQ(run(2), expected);
  EXPECT_EQ(run(3), expected);
}

INSTANTIATE_TEST_SUITE_P(Arch, BatchGradientOf,
                         ::testing::Values(Arch::kDecoder, Arch::kEncoder, Arch::kEncoderDecoder),
                         [](const auto& tested) { return enum_name(tested.param); });

// A head that says the id 3 whatever it reads.
TEST(BatchGradient, ASequenceIsExactWhereEveryJudgedTargetIsRight) {
  Transformer<float> model(tiny());
  model.params().values()[model.params().find("head.bias")->place.offset + 3] = 1;
  Batch batch;
  batch.batch = 4;
  batch.seq_len = 3;
  batch.ids.assign(12, 1);
  batch.targets = {3,
                   3,
                   3,  // right
                   3,
                   3,
                   4,  // not in the last
                   kIgnoreIndex,
                   3,
                   5,  // right where it is judged
                   kIgnoreIndex,
                   3,
                   3};  // not judged at all
  batch.judged = {1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 0};
  BatchGradient<float> gradient(model, 1);
  const Evaluation found = gradient.evaluate(batch);
  EXPECT_EQ(found.counted, 10);
  EXPECT_DOUBLE_EQ(found.accuracy, 6.0 / 7);
  EXPECT_DOUBLE_EQ(found.exact, 2.0 / 3);
}

TEST(BatchGradient, SmoothedLabelsAreInTheLossOfTrainingAlone) {
  Transformer<double> model(tiny());
  model.params().initialise(2);
  const Batch batch = Progressions(1).training_batch(0, 8);
  std::vector<double> gradients(static_cast<std::size_t>(model.params().size()));
  BatchGradient<double> gradient(model, 1);
  const double plain = gradient.compute(batch, gradients.data());
  GradientOptions options;
  options.label_smoothing = 0.3;
  EXPECT_GT(std::abs(gradient.compute(batch, gradients.data(), options) - plain), 1e-3);
  EXPECT_NEAR(gradient.evaluate(batch).loss, plain, 1e-12);
}

TEST(BatchGradient, RefusesPartsThatDoNotFit) {
  Transformer<float> model(tiny());
  std::vector<float> gradients(static_cast<std::size_t>(model.params().size()));
  BatchGradient<float> gradient(model, 1);
  const Batch good = Progressions(1).training_batch(0, 4);
  EXPECT_NO_THROW(gradient.compute(good, gradients.data()));
  const auto refused = [&](auto change) {
    Batch batch = good;
    change(batch);
    EXPECT_THROW(gradient.compute(batch, gradients.data()), ShapeError);
  };
  refused([](Batch& b) { b.ids.pop_back(); });
  refused([](Batch& b) { b.targets.push_back(0); });
  refused([](Batch& b) { b.key_mask.assign(3, 1); });
  refused([](Batch& b) { b.judged.assign(3, 1); });
  refused([](Batch& b) { b.source.assign(4, 1); });
  refused([](Batch& b) {
    b.source_len = 1;
    b.source.assign(4, 1);
  });
  refused([](Batch& b) { b.source_mask.assign(1, 1); });
  refused([](Batch& b) { b.targets.assign(b.targets.size(), kIgnoreIndex); });
}

}  // namespace
}  // namespace attn
