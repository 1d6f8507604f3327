#include "train/masked_progressions.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "ops/cross_entropy.h"
#include "train/padded_batch.h"

namespace attn {
namespace {

constexpr Index kEvaluated = 512;  // sequences

// b above: what a chosen token becomes. The mask is the number after the last token.
double chosen_becomes(Index seen, Index token, Index mask) {
  if (seen == mask) return Masking::kHidden;
  constexpr double kKept = 1 - Masking::kHidden - Masking::kRandom;
  return (seen == token ? kKept : 0.0) + Masking::kRandom / static_cast<double>(mask);
}

// Logarithms of the probabilities above, because a long sequence's product is below any double.
struct LnOdds {
  double right, wrong, mask;  // a, of what may be seen at another place
  double chosen;              // q
  double untouched;           // (1 - q)^n / n

  LnOdds(double q, Index mask_id, double length)
      : right(std::log(1 - q + q * chosen_becomes(0, 0, mask_id))),
        wrong(std::log(q * chosen_becomes(0, 1, mask_id))),
        mask(std::log(q * Masking::kHidden)),
        chosen(std::log(q)),
        untouched(length * std::log(1 - q) - std::log(length)) {}
};

}  // namespace

MaskedProgressions::MaskedProgressions(const Settings& settings) : settings_(settings) {
  if (settings.min_len < 3 || settings.min_len > settings.seq_len) {
    throw UsageError(fmt::format(
        "masked progressions need lengths of at least 3: --min-len {} and --seq-len {} came",
        settings.min_len, settings.seq_len));
  }
  constexpr Index kMostNumbers = 64;  // all their progressions are weighed for the floor
  if (settings.modulus < 2 || settings.modulus > kMostNumbers) {
    throw UsageError(
        fmt::format("--modulus must be between 2 and {}: got {}", kMostNumbers, settings.modulus));
  }
  masking_ = {settings.mask_fraction, settings.modulus, settings.modulus};
  // A fixed stream and not the seed's, so that runs with other seeds compare.
  Rng rng(0, RandomPurpose::kEvaluationData);
  evaluation_ = draw(rng, kEvaluated);
  judge(evaluation_);
}

Batch MaskedProgressions::draw(Rng& rng, Index batch) const {
  const Index modulus = settings_.modulus;
  std::vector<BatchRow> rows(static_cast<std::size_t>(batch));
  for (BatchRow& row : rows) {
    const Index length = settings_.min_len + rng.below(settings_.seq_len - settings_.min_len + 1);
    const Index start = rng.below(modulus);
    const Index step = 1 + rng.below(modulus - 1);
    for (Index i = 0; i < length; ++i) row.ids.push_back((start + step * i) % modulus);
    row.targets.resize(row.ids.size());
    masking_.hide(row.ids, row.targets, rng);
  }
  return padded_batch(rows, masking_.mask);
}

Batch MaskedProgressions::training_batch(Index step, Index batch) const {
  Rng rng(settings_.seed, RandomPurpose::kTrainingData, static_cast<std::uint32_t>(step));
  return draw(rng, batch);
}

std::vector<double> MaskedProgressions::posterior(std::span<const Index> seen, Index place) const {
  const Index modulus = settings_.modulus;
  const Index mask = masking_.mask;
  const LnOdds odds(settings_.mask_fraction, mask, static_cast<double>(seen.size()));
  std::vector<double> ln_weights;  // of progression start, step
  for (Index start = 0; start < modulus; ++start) {
    for (Index step = 1; step < modulus; ++step) {
      double others = odds.chosen;
      bool untouched = true;
      for (std::size_t j = 0; j < seen.size(); ++j) {
        if (static_cast<Index>(j) == place) continue;
        const bool right = seen[j] == (start + step * static_cast<Index>(j)) % modulus;
        others += right ? odds.right : seen[j] == mask ? odds.mask : odds.wrong;
        untouched = untouched && right;
      }
      // ln(e^a + e^b) = a + ln(1 + e^(b - a))
      if (untouched) others += std::log1p(std::exp(odds.untouched - others));
      const Index token = (start + step * place) % modulus;
      const Index here = seen[static_cast<std::size_t>(place)];
      ln_weights.push_back(others + std::log(chosen_becomes(here, token, mask)));
    }
  }
  const double largest = *std::max_element(ln_weights.begin(), ln_weights.end());
  std::vector<double> weights(static_cast<std::size_t>(modulus), 0.0);
  double sum = 0;
  for (std::size_t i = 0; i < ln_weights.size(); ++i) {
    const Index start = static_cast<Index>(i) / (modulus - 1);
    const Index step = 1 + static_cast<Index>(i) % (modulus - 1);
    const double weight = std::exp(ln_weights[i] - largest);
    weights[static_cast<std::size_t>((start + step * place) % modulus)] += weight;
    sum += weight;
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

void MaskedProgressions::judge(Batch& batch) {
  batch.judged.assign(batch.ids.size(), 0);
  double nats = 0;
  Index counted = 0;
  for (Index row = 0; row < batch.batch; ++row) {
    const auto first = static_cast<std::size_t>(row * batch.seq_len);
    auto length = static_cast<std::size_t>(batch.seq_len);
    if (!batch.key_mask.empty()) {
      const auto shown = batch.key_mask.begin() + row * batch.seq_len;
      length = static_cast<std::size_t>(std::count(shown, shown + batch.seq_len, 1));
    }
    const std::span<const Index> seen(batch.ids.data() + first, length);
    for (std::size_t i = 0; i < length; ++i) {
      const Index target = batch.targets[first + i];
      if (target == kIgnoreIndex) continue;
      const std::vector<double> known = posterior(seen, static_cast<Index>(i));
      nats -= std::log(known[static_cast<std::size_t>(target)]);
      ++counted;
      const double best = *std::max_element(known.begin(), known.end());
      batch.judged[first + i] = best >= kDetermined ? 1 : 0;
    }
  }
  floor_ = nats / static_cast<double>(counted);
}

}  // namespace attn
