#pragma once

#include "train/pairs.h"

namespace attn {

enum class Mapping { kCopy, kReverse, kSort };

/// Random strings of symbols and what a mapping makes of them. Where all strings are few,
/// evaluation runs over every one, and a quarter of them, the same for every seed, is never trained
/// on; else evaluation runs over fixed random strings.
class MappedPairs : public PairMaker {
 public:
  struct Settings {
    Mapping mapping = Mapping::kReverse;
    Index symbols = 10;
    Index shortest = 1;
    Index longest = 10;
    Index first_symbol = 0;  // the id of symbol 0; the others follow
  };

  /// Throws UsageError for lengths and symbols out of range.
  explicit MappedPairs(const Settings& settings);

  Pair training_pair(Rng& rng) const override;
  std::vector<Pair> evaluation_pairs() const override;
  Index longest_source() const override { return settings_.longest; }
  Index longest_target() const override { return settings_.longest; }

  /// All strings there are, where evaluation runs over all of them.
  std::optional<Index> all() const { return all_; }
  /// Never trained on.
  bool held_out(const std::vector<Index>& source) const;

 private:
  std::vector<Index> random_source(Rng& rng) const;
  Pair pair_of(std::vector<Index> source) const;

  Settings settings_;
  std::optional<Index> all_;
};

}  // namespace attn
