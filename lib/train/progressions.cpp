#include "train/progressions.h"

#include <fmt/core.h>

#include <cmath>

#include "core/error.h"
#include "core/rng.h"
#include "ops/cross_entropy.h"

namespace attn {
namespace {

void put_progression(Batch& batch, Index row, Index start, Index step, Index modulus) {
  const auto first = static_cast<std::size_t>(row * batch.seq_len);
  for (Index i = 0; i < batch.seq_len; ++i) {
    const Index token = (start + step * i) % modulus;
    const auto at = first + static_cast<std::size_t>(i);
    batch.ids[at] = token;
    batch.targets[at] = i + 1 < batch.seq_len ? (token + step) % modulus : kIgnoreIndex;
  }
}

}  // namespace

Progressions::Progressions(std::uint64_t seed, Index length, Index modulus)
    : seed_(seed), length_(length), modulus_(modulus) {
  if (length < 3) {
    throw UsageError(fmt::format("progressions need a length of at least 3: got {}", length));
  }
  if (modulus < 2 || modulus > (Index{1} << 20)) {
    throw UsageError(
        fmt::format("progressions need a modulus between 2 and 1048576: got {}", modulus));
  }
  // All of them, where there are not too many to run over.
  constexpr Index kMostSequences = 10000;
  const Index steps = modulus - 1;
  const Index all = modulus * steps;
  const Index stride = (all + kMostSequences - 1) / kMostSequences;
  exhaustive_ = stride == 1;
  evaluation_ = rows((all + stride - 1) / stride);
  for (Index row = 0; row < evaluation_.batch; ++row) {
    const Index which = row * stride;
    put_progression(evaluation_, row, which / steps, 1 + which % steps, modulus);
  }
}

Batch Progressions::rows(Index count) const {
  Batch batch;
  batch.batch = count;
  batch.seq_len = length_;
  batch.ids.resize(static_cast<std::size_t>(count * length_));
  batch.targets.resize(batch.ids.size());
  batch.judged.assign(batch.ids.size(), 1);
  for (Index row = 0; row < count; ++row) {
    // The second token, column 0's target, cannot be known.
    batch.judged[static_cast<std::size_t>(row * length_)] = 0;
  }
  return batch;
}

Batch Progressions::training_batch(Index step, Index batch) const {
  Rng rng(seed_, RandomPurpose::kTrainingData, static_cast<std::uint32_t>(step));
  Batch drawn = rows(batch);
  for (Index row = 0; row < batch; ++row) {
    const Index start = rng.below(modulus_);
    put_progression(drawn, row, start, 1 + rng.below(modulus_ - 1), modulus_);
  }
  return drawn;
}

std::optional<double> Progressions::loss_floor() const {
  return std::log(static_cast<double>(modulus_ - 1)) / static_cast<double>(length_ - 1);
}

}  // namespace attn
