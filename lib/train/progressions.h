#pragma once

#include <cstdint>

#include "train/data_source.h"

namespace attn {

/// Arithmetic progressions: start 0 .. modulus - 1, step 1 .. modulus - 1, all modulo `modulus`.
/// Only the second token cannot be known, so the floor of the mean loss is
/// ln(modulus - 1) / (length - 1). Evaluation runs over all modulus * (modulus - 1) of them;
/// accuracy counts from the third token on.
class Progressions : public DataSource {
 public:
  /// Throws UsageError for a length below 3 or a modulus below 2.
  explicit Progressions(std::uint64_t seed, Index length = 12, Index modulus = 10);

  Index vocab_size() const override { return modulus_; }
  Index seq_len() const override { return length_; }
  Batch training_batch(Index step, Index batch) const override;
  const Batch& evaluation_batch() const override { return evaluation_; }
  std::optional<double> loss_floor() const override;
  bool floor_is_exact() const override { return exhaustive_; }

 private:
  Batch rows(Index count) const;

  std::uint64_t seed_;
  Index length_;
  Index modulus_;
  Batch evaluation_;
  bool exhaustive_ = true;  // evaluation runs over every progression
};

}  // namespace attn
