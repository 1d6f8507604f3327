#include "train/masking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "ops/cross_entropy.h"
#include "train/masked_progressions.h"

namespace attn {
namespace {

// 100000 tokens: three standard deviations of a share p are 3 sqrt(p (1 - p) / 100000) < 0.005.
TEST(Masking, HidesReplacesAndKeepsAsBertDoes) {
  constexpr std::size_t kTokens = 100000;
  std::vector<Index> ids(kTokens);
  for (std::size_t i = 0; i < kTokens; ++i) ids[i] = static_cast<Index>(i % 10);
  const std::vector<Index> before = ids;
  std::vector<Index> targets(kTokens);
  Rng rng(0, RandomPurpose::kTrainingData);
  Masking{0.15, 10, 10}.hide(ids, targets, rng);
  double chosen = 0;
  double hidden = 0;
  double kept = 0;
  for (std::size_t i = 0; i < kTokens; ++i) {
    if (targets[i] == kIgnoreIndex) {
      ASSERT_EQ(ids[i], before[i]);
      continue;
    }
    ASSERT_EQ(targets[i], before[i]);
    chosen += 1;
    hidden += ids[i] == 10 ? 1 : 0;
    kept += ids[i] == before[i] ? 1 : 0;
  }
  EXPECT_NEAR(chosen / kTokens, 0.15, 0.005);
  EXPECT_NEAR(hidden / chosen, 0.8, 0.01);  // of 15000
  EXPECT_NEAR(kept / chosen, 0.11, 0.01);   // a tenth of the random ones is what it was
}

TEST(Masking, HidesAtLeastOne) {
  Rng rng(0, RandomPurpose::kTrainingData);
  for (int i = 0; i < 100; ++i) {
    std::vector<Index> ids{1, 2, 3};
    std::vector<Index> targets(3);
    Masking{0.001, 10, 10}.hide(ids, targets, rng);
    ASSERT_NE(targets, (std::vector<Index>(3, kIgnoreIndex)));
  }
  std::vector<Index> one{1};
  EXPECT_THROW((Masking{0, 10, 10}.hide(one, one, rng)), UsageError);
  EXPECT_THROW((Masking{1.5, 10, 10}.hide(one, one, rng)), UsageError);
}

// Modulo 3 with 3 tokens: 0 1 2, 0 2 1, 1 2 0, 1 0 2, 2 0 1, 2 1 0, each once.
MaskedProgressions::Settings three() {
  MaskedProgressions::Settings settings;
  settings.seq_len = 3;
  settings.min_len = 3;
  settings.modulus = 3;
  settings.mask_fraction = 0.5;
  return settings;
}

TEST(MaskedProgressions, NothingSeenIsEvenOdds) {
  const MaskedProgressions data(three());
  const std::vector<Index> seen{3, 3, 3};
  for (const double share : data.posterior(seen, 1)) EXPECT_NEAR(share, 1.0 / 3, 1e-12);
}

// By simulation: of all sequences drawn and hidden, those that look like this and whose middle was
// chosen.
TEST(MaskedProgressions, ThePosteriorIsWhatComesOut) {
  const MaskedProgressions data(three());
  const std::vector<Index> seen{0, 3, 1};
  std::vector<double> counts(3, 0.0);
  for (Index step = 0; step < 40; ++step) {
    const Batch batch = data.training_batch(step, 5000);
    for (Index row = 0; row < batch.batch; ++row) {
      const auto at = static_cast<std::size_t>(row * 3);
      if (!std::equal(seen.begin(), seen.end(), batch.ids.begin() + row * 3)) continue;
      if (batch.targets[at + 1] == kIgnoreIndex) continue;
      counts[static_cast<std::size_t>(batch.targets[at + 1])] += 1;
    }
  }
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  ASSERT_GT(all, 4000);
  const std::vector<double> share = data.posterior(seen, 1);
  EXPECT_GT(share[2], 0.5);  // 0 2 1 is a progression; 0 1 2 has lost its 2, or 2 0 1 its 2
  for (std::size_t token = 0; token < 3; ++token) {
    // Three standard deviations.
    const double margin = 3 * std::sqrt(share[token] * (1 - share[token]) / all);
    EXPECT_NEAR(counts[token] / all, share[token], margin) << token;
  }
}

// The formula of the header as it stands, progression by progression and place by place.
std::vector<double> by_the_formula(const std::vector<Index>& seen, std::size_t place, Index numbers,
                                   double q) {
  const auto n = static_cast<double>(seen.size());
  std::vector<double> weights(static_cast<std::size_t>(numbers), 0.0);
  for (Index start = 0; start < numbers; ++start) {
    for (Index step = 1; step < numbers; ++step) {
      double chosen = q;
      double untouched = std::pow(1 - q, n) / n;
      double here = 0;
      Index token = 0;
      for (std::size_t j = 0; j < seen.size(); ++j) {
        const Index x = (start + step * static_cast<Index>(j)) % numbers;
        const double becomes =
            seen[j] == numbers ? 0.8
                               : (seen[j] == x ? 0.1 : 0.0) + 0.1 / static_cast<double>(numbers);
        if (j == place) {
          here = becomes;
          token = x;
          continue;
        }
        chosen *= (seen[j] == x ? 1 - q : 0.0) + q * becomes;
        untouched *= seen[j] == x ? 1 : 0;
      }
      weights[static_cast<std::size_t>(token)] += here * (chosen + untouched);
    }
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

TEST(MaskedProgressions, ThePosteriorIsThatOfTheFormula) {
  MaskedProgressions::Settings settings;
  settings.modulus = 6;
  settings.seq_len = settings.min_len = 8;
  settings.mask_fraction = 0.2;
  const MaskedProgressions data(settings);
  for (const std::vector<Index>& seen : std::vector<std::vector<Index>>{{1, 3, 5, 1, 3, 5, 1, 3},
                                                                        {1, 3, 5, 1, 6, 5, 1, 3},
                                                                        {6, 3, 6, 2, 6, 5, 6, 3},
                                                                        {0, 0, 0, 4, 4, 4, 6, 6}}) {
    for (std::size_t place = 0; place < seen.size(); ++place) {
      const auto found = data.posterior(seen, static_cast<Index>(place));
      const auto wanted = by_the_formula(seen, place, 6, 0.2);
      for (std::size_t token = 0; token < 6; ++token) {
        EXPECT_NEAR(found[token], wanted[token], 1e-12) << place << " " << token;
      }
    }
  }
}

// 2000 tokens, every seventh hidden: their product of probabilities is below any double.
TEST(MaskedProgressions, ALongSequenceLeavesNoDoubt) {
  const MaskedProgressions data{MaskedProgressions::Settings()};
  std::vector<Index> seen;
  for (Index i = 0; i < 2000; ++i) seen.push_back(i % 7 == 0 ? 10 : (4 + 3 * i) % 10);
  const std::vector<double> known = data.posterior(seen, 700);
  for (Index token = 0; token < 10; ++token) {
    EXPECT_NEAR(known[static_cast<std::size_t>(token)], token == 4 ? 1.0 : 0.0, 1e-12) << token;
  }
}

TEST(MaskedProgressions, JudgesWhereTheAnswerIsDetermined) {
  MaskedProgressions::Settings settings;
  settings.mask_fraction = 0.3;
  const MaskedProgressions data(settings);
  const Batch& batch = data.evaluation_batch();
  Index chosen = 0;
  Index judged = 0;
  for (std::size_t i = 0; i < batch.ids.size(); ++i) {
    chosen += batch.targets[i] != kIgnoreIndex ? 1 : 0;
    judged += batch.judged[i];
    if (batch.judged[i] != 0) {
      ASSERT_NE(batch.targets[i], kIgnoreIndex);
    }
  }
  EXPECT_GT(judged, chosen / 2);
  EXPECT_LT(judged, chosen) << "some cannot be known";
  EXPECT_GT(data.loss_floor().value(), 0);
  EXPECT_LT(data.loss_floor().value(), 0.2);
}

TEST(MaskedProgressions, LengthsMayDiffer) {
  MaskedProgressions::Settings settings;
  settings.min_len = 5;
  const Batch batch = MaskedProgressions(settings).training_batch(0, 64);
  ASSERT_FALSE(batch.key_mask.empty());
  Index shortest = 12;
  for (Index row = 0; row < 64; ++row) {
    const auto shown = batch.key_mask.begin() + row * batch.seq_len;
    const Index length = std::count(shown, shown + batch.seq_len, 1);
    shortest = std::min(shortest, length);
    for (Index i = length; i < batch.seq_len; ++i) {
      ASSERT_EQ(batch.targets[static_cast<std::size_t>(row * batch.seq_len + i)], kIgnoreIndex);
    }
  }
  EXPECT_EQ(shortest, 5);
  settings.min_len = 2;
  EXPECT_THROW(MaskedProgressions{settings}, UsageError);
}

}  // namespace
}  // namespace attn
