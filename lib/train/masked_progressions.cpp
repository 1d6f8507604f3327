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

// All progressions weighed by what is seen of a sequence, to be asked for each of its places: how
// often each agrees with what is seen is counted once, and a place leaves its own share out again.
class Weights {
 public:
  Weights(std::span<const Index> seen, Index modulus, double chosen_share)
      : seen_(seen),
        modulus_(modulus),
        mask_(modulus),
        right_(static_cast<std::size_t>(modulus * (modulus - 1)), 0),
        // Logarithms, because a long sequence's product is below any double.
        ln_right_(std::log(1 - chosen_share + chosen_share * chosen_becomes(0, 0, mask_))),
        ln_wrong_(std::log(chosen_share * chosen_becomes(0, 1, mask_))),
        ln_mask_(std::log(chosen_share * Masking::kHidden)),
        ln_chosen_(std::log(chosen_share)),
        ln_untouched_(length() * std::log(1 - chosen_share) - std::log(length())),
        ln_here_right_(std::log(chosen_becomes(0, 0, mask_))),
        ln_here_wrong_(std::log(chosen_becomes(0, 1, mask_))) {
    for (std::size_t j = 0; j < seen.size(); ++j) {
      if (seen[j] == mask_) {
        ++masks_;
        continue;
      }
      // Each step leads to a number at a place from one start.
      for (Index step = 1; step < modulus; ++step) {
        const Index from = (seen[j] - step * static_cast<Index>(j) % modulus + modulus) % modulus;
        ++right_[index(from, step)];
      }
    }
  }

  // The distribution over the numbers at a chosen place.
  std::vector<double> posterior(Index place) const {
    std::vector<double> ln_weights;
    ln_weights.reserve(right_.size());
    for (Index start = 0; start < modulus_; ++start) {
      for (Index step = 1; step < modulus_; ++step) ln_weights.push_back(at(start, step, place));
    }
    const double largest = *std::max_element(ln_weights.begin(), ln_weights.end());
    constexpr double kNothing = -746;  // exp of it is 0
    std::vector<double> weights(static_cast<std::size_t>(modulus_), 0.0);
    double sum = 0;
    for (Index start = 0; start < modulus_; ++start) {
      for (Index step = 1; step < modulus_; ++step) {
        const double below = ln_weights[index(start, step)] - largest;
        if (below < kNothing) continue;
        const double weight = std::exp(below);
        weights[static_cast<std::size_t>((start + step * place) % modulus_)] += weight;
        sum += weight;
      }
    }
    for (double& weight : weights) weight /= sum;
    return weights;
  }

 private:
  double length() const { return static_cast<double>(seen_.size()); }
  std::size_t index(Index start, Index step) const {
    return static_cast<std::size_t>(start * (modulus_ - 1) + step - 1);
  }

  // ln of a progression's weight, knowing that the place was chosen.
  double at(Index start, Index step, Index place) const {
    const Index here = seen_[static_cast<std::size_t>(place)];
    const bool hidden = here == mask_;
    const bool right_here = here == (start + step * place) % modulus_;
    const auto others = static_cast<Index>(seen_.size()) - 1;
    const Index masks = masks_ - (hidden ? 1 : 0);
    const Index right = right_[index(start, step)] - (right_here ? 1 : 0);
    const Index wrong = others - masks - right;
    double ln = ln_chosen_ + static_cast<double>(right) * ln_right_ +
                static_cast<double>(wrong) * ln_wrong_ + static_cast<double>(masks) * ln_mask_;
    // ln(e^a + e^b) = a + ln(1 + e^(b - a))
    if (right == others) ln += std::log1p(std::exp(ln_untouched_ - ln));
    return ln + (hidden       ? std::log(Masking::kHidden)
                 : right_here ? ln_here_right_
                              : ln_here_wrong_);
  }

  std::span<const Index> seen_;
  Index modulus_, mask_;      // the mask is the number after the last token
  std::vector<Index> right_;  // (start, step): places that are as in the progression
  Index masks_ = 0;           // places that are hidden
  // a above, of what may be seen at another place; q; (1 - q)^n / n; b above, of the place itself.
  double ln_right_, ln_wrong_, ln_mask_, ln_chosen_, ln_untouched_, ln_here_right_, ln_here_wrong_;
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
  return Weights(seen, settings_.modulus, settings_.mask_fraction).posterior(place);
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
    const Weights weights({batch.ids.data() + first, length}, settings_.modulus,
                          settings_.mask_fraction);
    for (std::size_t i = 0; i < length; ++i) {
      const Index target = batch.targets[first + i];
      if (target == kIgnoreIndex) continue;
      const std::vector<double> known = weights.posterior(static_cast<Index>(i));
      nats -= std::log(known[static_cast<std::size_t>(target)]);
      ++counted;
      const double best = *std::max_element(known.begin(), known.end());
      batch.judged[first + i] = best >= kDetermined ? 1 : 0;
    }
  }
  floor_ = nats / static_cast<double>(counted);
}

}  // namespace attn
