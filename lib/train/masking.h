#pragma once

#include <span>

#include "core/rng.h"

namespace attn {

/// Hides tokens that are to be guessed as BERT does (Devlin et al. 2019, arXiv:1810.04805, 3.1):
/// each is chosen with probability `fraction`; a chosen one becomes the mask in 80 % of the cases,
/// a random token in 10 % and stays in 10 %. Where chance chooses none, one is.
struct Masking {
  static constexpr double kHidden = 0.8;
  static constexpr double kRandom = 0.1;

  double fraction = 0.15;
  Index mask = 0;    // the id that hides
  Index tokens = 0;  // ids 0 .. tokens - 1 are those that may stand in its place

  /// Changes ids and sets targets (as many) to what stood there, kIgnoreIndex at the others.
  /// Throws UsageError for a fraction that is not above 0 and at most 1.
  void hide(std::span<Index> ids, std::span<Index> targets, Rng& rng) const;
};

}  // namespace attn
