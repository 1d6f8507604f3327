#include "train/mapped_pairs.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/error.h"

namespace attn {
namespace {

constexpr Index kMostEnumerated = 10000;
constexpr Index kSampled = 512;  // strings of an evaluation where there are too many

// Strings of these lengths, where they are few enough to run over all.
std::optional<Index> count_all(const MappedPairs::Settings& settings) {
  Index all = 0;
  Index of_length = 1;
  for (Index length = 1; length <= settings.longest; ++length) {
    of_length *= settings.symbols;
    if (of_length > kMostEnumerated) return std::nullopt;
    if (length >= settings.shortest) all += of_length;
  }
  return all <= kMostEnumerated ? std::optional(all) : std::nullopt;
}

}  // namespace

MappedPairs::MappedPairs(const Settings& settings) : settings_(settings) {
  constexpr Index kLongest = Index{1} << 20;
  if (settings.longest < 1 || settings.longest > kLongest) {
    throw UsageError(
        fmt::format("--seq-len must be between 1 and {}: got {}", kLongest, settings.longest));
  }
  if (settings.shortest < 1 || settings.shortest > settings.longest) {
    throw UsageError(fmt::format("--min-len must be between 1 and --seq-len, {}: got {}",
                                 settings.longest, settings.shortest));
  }
  if (settings.symbols < 2 || settings.symbols > kMostEnumerated) {
    throw UsageError(fmt::format("--modulus must be between 2 and {} symbols: got {}",
                                 kMostEnumerated, settings.symbols));
  }
  all_ = count_all(settings);
}

bool MappedPairs::held_out(const std::vector<Index>& source) const {
  if (!all_) return false;
  // The string as a number, its length told by a leading 1: below 2 * symbols * kMostEnumerated.
  Index number = 1;
  for (const Index symbol : source) number = number * settings_.symbols + symbol;
  // The string 0 is always trained on, so that there is one.
  const bool first = static_cast<Index>(source.size()) == settings_.shortest &&
                     std::all_of(source.begin(), source.end(), [](Index s) { return s == 0; });
  Rng fixed(0, RandomPurpose::kEvaluationData, static_cast<std::uint32_t>(number));
  return !first && fixed.below(4) == 0;
}

std::vector<Index> MappedPairs::random_source(Rng& rng) const {
  const Index length = settings_.shortest + rng.below(settings_.longest - settings_.shortest + 1);
  std::vector<Index> source(static_cast<std::size_t>(length));
  for (Index& symbol : source) symbol = rng.below(settings_.symbols);
  return source;
}

Pair MappedPairs::pair_of(std::vector<Index> source) const {
  Pair pair;
  for (Index& symbol : source) symbol += settings_.first_symbol;
  pair.target = source;
  if (settings_.mapping == Mapping::kReverse) std::reverse(pair.target.begin(), pair.target.end());
  if (settings_.mapping == Mapping::kSort) std::sort(pair.target.begin(), pair.target.end());
  pair.source = std::move(source);
  return pair;
}

Pair MappedPairs::training_pair(Rng& rng) const {
  std::vector<Index> source = random_source(rng);
  while (held_out(source)) source = random_source(rng);
  return pair_of(std::move(source));
}

std::vector<Pair> MappedPairs::evaluation_pairs() const {
  std::vector<Pair> pairs;
  if (!all_) {
    // A fixed stream and not the seed's, so that runs with other seeds compare.
    Rng rng(0, RandomPurpose::kEvaluationData);
    for (Index i = 0; i < kSampled; ++i) pairs.push_back(pair_of(random_source(rng)));
    return pairs;
  }
  for (Index length = settings_.shortest; length <= settings_.longest; ++length) {
    std::vector<Index> source(static_cast<std::size_t>(length), 0);
    for (bool more = true; more;) {
      pairs.push_back(pair_of(source));
      // Counts up, the last symbol fastest.
      auto digit = source.rbegin();
      while (digit != source.rend() && *digit == settings_.symbols - 1) *digit++ = 0;
      more = digit != source.rend();
      if (more) ++*digit;
    }
  }
  return pairs;
}

}  // namespace attn
