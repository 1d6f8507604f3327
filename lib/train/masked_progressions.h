#pragma once

#include "train/data_source.h"
#include "train/masking.h"

namespace attn {

/// Arithmetic progressions (train/progressions.h) with hidden tokens to be filled in from both
/// sides. The last id is the mask.
///
/// What cannot be known: which progression it was, seeing v. With n tokens, share q chosen and m
/// numbers, v_j comes from x_j with
///   a(v_j | x_j) = 1 - q + q (0.1 + 0.1 / m) where v_j = x_j, q 0.1 / m for another number, q 0.8
///   for the mask,
/// and if it was chosen, with
///   b(v_i | x_i) = 0.1 + 0.1 / m, 0.1 / m, 0.8.
/// A guess at place i knows that i was chosen, so a progression x has the weight
///   b(v_i | x_i) (q prod_{j != i} a(v_j | x_j) + (1 - q)^n / n prod_{j != i} [v_j = x_j]);
/// the second term is the case that chance chose none. Over all progressions these give the
/// distribution of x_i, and its mean -ln p(x_i) over the evaluation is the floor: the loss of
/// whoever knows all this. Accuracy looks where the likeliest x_i has at least kDetermined.
class MaskedProgressions : public DataSource {
 public:
  static constexpr double kDetermined = 0.99;

  struct Settings {
    Index seq_len = 12;
    Index min_len = 12;  // lengths are drawn evenly from min_len .. seq_len
    Index modulus = 10;
    double mask_fraction = 0.15;
    std::uint64_t seed = 0;
  };

  /// Throws UsageError for settings out of range.
  explicit MaskedProgressions(const Settings& settings);

  Index vocab_size() const override { return settings_.modulus + 1; }
  Index seq_len() const override { return settings_.seq_len; }
  Batch training_batch(Index step, Index batch) const override;
  const Batch& evaluation_batch() const override { return evaluation_; }
  std::optional<double> loss_floor() const override { return floor_; }

  /// The distribution over the numbers 0 .. modulus - 1 at a chosen place of a corrupted sequence.
  std::vector<double> posterior(std::span<const Index> seen, Index place) const;

 private:
  Batch draw(Rng& rng, Index batch) const;
  void judge(Batch& batch);

  Settings settings_;
  Masking masking_;
  Batch evaluation_;
  double floor_ = 0;
};

}  // namespace attn
