#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/index.h"

namespace attn {

/// How the next token is chosen. The filters act in the order of these fields; each keeps the best
/// of what the one before it kept, so that what is left is a run of the ranking.
struct SamplingSettings {
  /// Logits of tokens that occur in the sequence, prompt included, are divided by it where they are
  /// positive and multiplied where they are negative, once, however often a token occurs (Keskar et
  /// al. 2019, arXiv:1909.05858, with the sign minded). 1: none.
  double repetition_penalty = 1;
  std::optional<Index> repeat_last;  // only of so many last tokens; none: of all
  double temperature = 0;            // logits are divided by it; 0: greedy, the largest is taken
  Index top_k = 0;   // keeps so many; 0, or more than the vocabulary: all. Exactly k remain
  double top_p = 1;  // keeps a token while the probability of those before it is below p; 1: all
  double min_p = 0;  // keeps tokens of at least this share of the best one's probability; 0: all
  std::uint64_t seed = 0;
  std::uint32_t prompt = 0;  // number of the prompt, and of the sample of it: each an independent
  std::uint32_t sample = 0;  // stream of the same seed

  /// Throws UsageError, which names the option, for a number out of range.
  void validate() const;
  /// Whether anything is drawn.
  bool greedy() const { return temperature == 0; }
};

/// One token of the ranking, and why it may or may not be drawn.
struct Candidate {
  Index id = 0;
  double logit = 0;      // the model's own
  double penalised = 0;  // after the repetition penalty
  double scaled = 0;     // and after the temperature
  /// Probability of those ranked before it, among what top-k kept; 0 where top-k dropped it.
  double mass_before = 0;
  bool by_top_k = false;
  bool by_top_p = false;  // of what top-k kept; so on
  bool by_min_p = false;
  double probability = 0;  // of being drawn: 0 where it is dropped
};

/// The tokens that may follow, ranked by their logits after the penalty, largest first, the lower
/// id first of equals. This is the only place where tokens are filtered and drawn. Top-p (nucleus):
/// Holtzman et al. 2019, arXiv:1904.09751; min-p: Nguyen et al. 2024, arXiv:2407.01082.
class NextToken {
 public:
  /// seen: the sequence so far. Throws UsageError for settings out of range, DataError for logits
  /// that are NaN or +infinity, and where there is none above -infinity (which a mask may set),
  /// before the penalty or after it.
  template <class T>
  NextToken(std::span<const T> logits, std::span<const Index> seen,
            const SamplingSettings& settings);

  Index vocab_size() const { return static_cast<Index>(penalised_.size()); }
  /// How many of the ranking's first may be drawn.
  Index kept() const { return kept_; }
  /// The first `count` of the ranking, or all.
  std::vector<Candidate> best(Index count);
  /// A token's place in the ranking, from 0.
  Index rank_of(Index id);

  /// The token at the place `drawn`, in [0, 1), of the cumulative distribution over those that may
  /// be drawn, in order of id. Greedy: the ranking's first, whatever is drawn.
  Index at(double drawn);
  /// By what margin that was decided: the least of how far `drawn` is from another token's share,
  /// how far the last token kept is from the first dropped, the masses from p, and the shares from
  /// min-p (as logarithms); in units of logit / temperature. Greedy: the gap of the two largest
  /// logits after the penalty. Logits that are off by less than half of it choose the same token.
  double margin(double drawn);

 private:
  void filter();
  void sort_to(Index count);
  double scaled(Index id) const;
  double share(Index id) const;
  std::vector<Index> kept_ids();

  SamplingSettings settings_;
  std::vector<double> logits_, penalised_;
  std::vector<Index> ranking_;  // in order up to sorted_
  Index sorted_ = 0;
  double top_ = 0;    // the largest logit after the penalty
  double total_ = 0;  // shares of what may be drawn
  double total_by_k_ = 0;
  Index by_k_ = 0, by_p_ = 0, kept_ = 0;  // how many of the first each filter left
  double filter_margin_ = 0;
};

/// The uniform number that decides about a position: a function of (seed, prompt, sample, position)
/// alone, so a token depends on nothing drawn before it.
double drawn_number(const SamplingSettings& settings, Index position);

/// A token, and by what margin it was chosen (NextToken::margin).
struct Choice {
  Index token = 0;
  double margin = 0;
};
template <class T>
Choice choose_with_margin(std::span<const T> logits, std::span<const Index> seen,
                          const SamplingSettings& settings, Index position);

/// The next token. Greedy takes the largest logit, the lowest id of equals; otherwise one is drawn
/// by drawn_number. Throws as NextToken does.
template <class T>
Index choose_token(std::span<const T> logits, std::span<const Index> seen,
                   const SamplingSettings& settings, Index position);

}  // namespace attn
