#include "train/induction.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/rng.h"
#include "ops/cross_entropy.h"

namespace attn {
namespace {

constexpr Index kEvaluated = 512;  // sequences

double minus_x_ln_x(double x) {
  return x > 0 ? -x * std::log(x) : 0.0;
}

}  // namespace

Induction::Induction(const Settings& settings) : settings_(settings) {
  constexpr Index kMostTokens = 4096;
  if (settings.tokens < 2 || settings.tokens > kMostTokens) {
    throw UsageError(fmt::format("--modulus must be between 2 and {} tokens: got {}", kMostTokens,
                                 settings.tokens));
  }
  if (settings.shortest < 2 || settings.shortest > settings.longest) {
    throw UsageError(fmt::format("induction needs a prefix of at least 2 tokens: {} to {} came",
                                 settings.shortest, settings.longest));
  }
  if (settings.longest > settings.tokens) {
    throw UsageError(
        fmt::format("induction: --modulus must be at least {} for a prefix of distinct "
                    "tokens: got {}",
                    settings.longest, settings.tokens));
  }
  if (settings.seq_len < settings.longest + 2) {
    throw UsageError(
        fmt::format("induction: --seq-len must be at least {} for the repeat to show: got {}",
                    settings.longest + 2, settings.seq_len));
  }
  // A fixed stream and not the seed's, so that runs with other seeds compare.
  Rng rng(0, RandomPurpose::kEvaluationData);
  std::vector<Index> prefixes;
  evaluation_ = draw(rng, kEvaluated, &prefixes);
  double nats = 0;
  for (const Index prefix : prefixes) {
    for (Index t = 1; t <= prefix; ++t) {
      const double share =
          t == prefix ? hazard(t) : (1 - hazard(t)) / static_cast<double>(settings_.tokens - t);
      nats -= std::log(share);
    }
  }
  floor_ = nats / static_cast<double>(kEvaluated * (settings_.seq_len - 1));
}

double Induction::hazard(Index seen) const {
  return seen < settings_.shortest ? 0.0 : 1.0 / static_cast<double>(settings_.longest - seen + 1);
}

double Induction::expected_floor() const {
  double nats = 0;
  double reached = 1;  // P(length >= t)
  for (Index t = 1; t <= settings_.longest; ++t) {
    const double ends = hazard(t);
    nats += reached * (minus_x_ln_x(ends) + minus_x_ln_x(1 - ends));
    if (ends < 1)
      nats += reached * (1 - ends) * std::log(static_cast<double>(settings_.tokens - t));
    reached *= 1 - ends;
  }
  return nats / static_cast<double>(settings_.seq_len - 1);
}

Batch Induction::draw(Rng& rng, Index batch, std::vector<Index>* prefixes) const {
  const Index length = settings_.seq_len;
  Batch drawn;
  drawn.batch = batch;
  drawn.seq_len = length;
  drawn.ids.resize(static_cast<std::size_t>(batch * length));
  drawn.targets.assign(drawn.ids.size(), kIgnoreIndex);
  drawn.judged.assign(drawn.ids.size(), 0);
  std::vector<Index> tokens(static_cast<std::size_t>(settings_.tokens));
  for (Index row = 0; row < batch; ++row) {
    const Index prefix = settings_.shortest + rng.below(settings_.longest - settings_.shortest + 1);
    // The first `prefix` of a shuffle (Fisher and Yates).
    std::iota(tokens.begin(), tokens.end(), Index{0});
    for (Index i = 0; i < prefix; ++i) {
      std::swap(tokens[static_cast<std::size_t>(i)],
                tokens[static_cast<std::size_t>(i + rng.below(settings_.tokens - i))]);
    }
    const auto first = static_cast<std::size_t>(row * length);
    for (Index i = 0; i < length; ++i) {
      const auto at = first + static_cast<std::size_t>(i);
      drawn.ids[at] = tokens[static_cast<std::size_t>(i % prefix)];
      if (i + 1 < length) drawn.targets[at] = tokens[static_cast<std::size_t>((i + 1) % prefix)];
      drawn.judged[at] = i >= prefix ? 1 : 0;
    }
    if (prefixes != nullptr) prefixes->push_back(prefix);
  }
  return drawn;
}

Batch Induction::training_batch(Index step, Index batch) const {
  Rng rng(settings_.seed, RandomPurpose::kTrainingData, static_cast<std::uint32_t>(step));
  return draw(rng, batch, nullptr);
}

}  // namespace attn
