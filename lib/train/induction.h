#pragma once

#include "core/rng.h"
#include "train/data_source.h"

namespace attn {

/// A random prefix of distinct tokens, repeated over and over: a b c d a b c d a ... Whoever finds
/// the token's last occurrence and says what followed it is right (Olsson et al. 2022,
/// arXiv:2209.11895, "induction heads"). The prefix's length differs from sequence to sequence, so
/// that no fixed distance back will do.
///
/// What cannot be known: the prefix, and where it ends. After t distinct tokens the prefix ends
/// with the hazard h(t) = P(length = t | length >= t), and the first token follows; else one of the
/// V - t others does. So that target costs -ln h(t), or -ln((1 - h(t)) / (V - t)); all later ones
/// cost nothing. The floor is the mean of that over the evaluation's sequences; expected_floor() is
/// its expectation, sum_t P(length >= t) (H(h(t)) + (1 - h(t)) ln(V - t)) / (n - 1).
/// Accuracy counts from the repeat's second token on.
class Induction : public DataSource {
 public:
  struct Settings {
    Index seq_len = 32;
    Index shortest = 6;  // prefix
    Index longest = 14;
    Index tokens = 20;
    std::uint64_t seed = 0;
  };

  /// Throws UsageError for settings out of range.
  explicit Induction(const Settings& settings);

  Index vocab_size() const override { return settings_.tokens; }
  Index seq_len() const override { return settings_.seq_len; }
  Batch training_batch(Index step, Index batch) const override;
  const Batch& evaluation_batch() const override { return evaluation_; }
  std::optional<double> loss_floor() const override { return floor_; }
  double expected_floor() const;

 private:
  double hazard(Index seen) const;
  Batch draw(Rng& rng, Index batch, std::vector<Index>* prefixes) const;

  Settings settings_;
  Batch evaluation_;
  double floor_ = 0;
};

}  // namespace attn
