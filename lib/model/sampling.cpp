#include "model/sampling.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/error.h"
#include "core/rng.h"
#include "model/log_probability.h"

namespace attn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
void check_logits(std::span<const T> logits) {
  require_shape(!logits.empty(), "choose token: no logits");
  bool any = false;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]) || logits[i] == std::numeric_limits<T>::infinity()) {
      throw DataError(fmt::format("the logit of token {} is {}: no token can be chosen", i,
                                  std::isnan(logits[i]) ? "nan" : "inf"));
    }
    any = any || logits[i] > -std::numeric_limits<T>::infinity();
  }
  if (!any) throw DataError("every logit is -inf: no token can be chosen");
}

void require_setting(bool holds, const char* option, const char* wanted, double value) {
  if (!holds) throw UsageError(fmt::format("--{} must be {}: got {}", option, wanted, value));
}

}  // namespace

void SamplingSettings::validate() const {
  require_setting(std::isfinite(temperature) && temperature >= 0, "temperature",
                  "0 (greedy) or a positive number", temperature);
  require_setting(top_k >= 0, "top-k", "0 (all) or more", static_cast<double>(top_k));
  require_setting(top_p > 0 && top_p <= 1, "top-p", "above 0 and at most 1 (all)", top_p);
  require_setting(min_p >= 0 && min_p <= 1, "min-p", "from 0 (all) to 1", min_p);
  require_setting(std::isfinite(repetition_penalty) && repetition_penalty > 0, "repetition-penalty",
                  "a positive number", repetition_penalty);
  require_setting(!repeat_last || *repeat_last >= 0, "repeat-last-n", "0 or more",
                  static_cast<double>(repeat_last.value_or(0)));
}

template <class T>
NextToken::NextToken(std::span<const T> logits, std::span<const Index> seen,
                     const SamplingSettings& settings)
    : settings_(settings) {
  settings_.validate();
  check_logits(logits);
  logits_.assign(logits.begin(), logits.end());
  penalised_ = logits_;
  if (settings_.repetition_penalty != 1) {
    const auto count = static_cast<Index>(seen.size());
    const Index last = std::min(count, settings_.repeat_last.value_or(count));
    for (const Index id : seen.last(static_cast<std::size_t>(last))) {
      require_shape(id >= 0 && id < vocab_size(), "choose token: a seen token outside the logits");
      const double logit = logits_[static_cast<std::size_t>(id)];
      // From the model's own logit, so that a token that came twice pays once.
      penalised_[static_cast<std::size_t>(id)] =
          logit > 0 ? logit / settings_.repetition_penalty : logit * settings_.repetition_penalty;
    }
  }
  top_ = *std::max_element(penalised_.begin(), penalised_.end());
  if (!std::isfinite(top_)) {
    throw DataError(fmt::format("a repetition penalty of {} makes the largest logit {}",
                                settings_.repetition_penalty, top_));
  }
  ranking_.resize(penalised_.size());
  std::iota(ranking_.begin(), ranking_.end(), Index{0});
  filter();
}

// What the ranking's first `count` places hold is known after this. The rest is only partitioned,
// because of a large vocabulary few are asked for.
void NextToken::sort_to(Index count) {
  count = std::min(count, vocab_size());
  if (count <= sorted_) return;
  constexpr Index kLeast = 64;
  count = std::min(vocab_size(), std::max({count, kLeast, 2 * sorted_}));
  const auto before = [this](Index a, Index b) {
    const double x = penalised_[static_cast<std::size_t>(a)];
    const double y = penalised_[static_cast<std::size_t>(b)];
    return x > y || (x == y && a < b);
  };
  const auto first = ranking_.begin() + sorted_;
  const auto last = ranking_.begin() + count;
  if (last != ranking_.end()) std::nth_element(first, last, ranking_.end(), before);
  std::sort(first, last, before);
  sorted_ = count;
}

// Under the best one's, so that nothing overflows. Greedy has no temperature: as if it were 1.
double NextToken::scaled(Index id) const {
  const double below = penalised_[static_cast<std::size_t>(id)] - top_;
  return settings_.greedy() ? below : below / settings_.temperature;
}

double NextToken::share(Index id) const {
  return std::exp(scaled(id));
}

void NextToken::filter() {
  const Index all = vocab_size();
  filter_margin_ = kInfinity;
  if (settings_.greedy()) {
    by_k_ = by_p_ = kept_ = 1;
    total_ = total_by_k_ = 1;
    sort_to(2);
    if (all > 1) filter_margin_ = -scaled(ranking_[1]);
    return;
  }
  const auto ranked = [this](Index rank) {
    sort_to(rank + 1);
    return ranking_[static_cast<std::size_t>(rank)];
  };
  by_k_ = settings_.top_k == 0 ? all : std::min(settings_.top_k, all);
  if (by_k_ < all) {
    for (Index rank = 0; rank < by_k_; ++rank) total_by_k_ += share(ranked(rank));
  } else {
    for (Index id = 0; id < all; ++id) total_by_k_ += share(id);
  }

  by_p_ = by_k_;
  if (settings_.top_p < 1) {
    double mass = 0;
    for (by_p_ = 0; by_p_ < by_k_; ++by_p_) {
      const double before = mass / total_by_k_;
      if (by_p_ > 0) {  // the first stays, whatever p is
        filter_margin_ = std::min(filter_margin_, std::abs(before - settings_.top_p));
        if (before >= settings_.top_p) break;
      }
      mass += share(ranked(by_p_));
    }
  }

  kept_ = by_p_;
  if (settings_.min_p > 0) {
    const double least = std::log(settings_.min_p);
    for (kept_ = 0; kept_ < by_p_; ++kept_) {
      const double one = scaled(ranked(kept_));
      if (kept_ > 0) filter_margin_ = std::min(filter_margin_, std::abs(one - least));
      if (kept_ > 0 && one < least) break;
    }
  }
  if (kept_ < all) {
    filter_margin_ = std::min(filter_margin_, scaled(ranked(kept_ - 1)) - scaled(ranked(kept_)));
  }
  if (kept_ == by_k_) {
    total_ = total_by_k_;
  } else {
    for (Index rank = 0; rank < kept_; ++rank) total_ += share(ranked(rank));
  }
}

std::vector<Candidate> NextToken::best(Index count) {
  count = std::min(count, vocab_size());
  sort_to(count);
  std::vector<Candidate> all;
  double mass = 0;
  for (Index rank = 0; rank < count; ++rank) {
    Candidate one;
    one.id = ranking_[static_cast<std::size_t>(rank)];
    one.logit = logits_[static_cast<std::size_t>(one.id)];
    one.penalised = penalised_[static_cast<std::size_t>(one.id)];
    one.scaled = settings_.greedy() ? one.penalised : one.penalised / settings_.temperature;
    one.by_top_k = rank < by_k_;
    one.by_top_p = rank < by_p_;
    one.by_min_p = rank < kept_;
    const double part = rank < by_k_ ? share(one.id) : 0;
    if (rank < by_k_) one.mass_before = mass / total_by_k_;
    mass += part;
    one.probability = rank < kept_ ? part / total_ : 0;
    all.push_back(one);
  }
  return all;
}

Index NextToken::rank_of(Index id) {
  require_shape(id >= 0 && id < vocab_size(), "next token: no such token");
  for (Index rank = 0;; ++rank) {
    sort_to(rank + 1);
    if (ranking_[static_cast<std::size_t>(rank)] == id) return rank;
  }
}

// In order of id: two tokens that change places in the ranking do not change what is drawn.
std::vector<Index> NextToken::kept_ids() {
  std::vector<Index> ids(ranking_.begin(), ranking_.begin() + kept_);
  std::sort(ids.begin(), ids.end());
  return ids;
}

Index NextToken::at(double drawn) {
  if (settings_.greedy()) return ranking_.front();
  const double wanted = drawn * total_;
  double sum = 0;
  Index chosen = -1;
  for (const Index id : kept_ids()) {
    const double part = share(id);
    if (part == 0) continue;
    chosen = id;
    sum += part;
    if (wanted < sum) break;
  }
  return chosen;
}

double NextToken::margin(double drawn) {
  if (settings_.greedy()) return filter_margin_;
  double least = filter_margin_;
  double sum = 0;
  const std::vector<Index> ids = kept_ids();
  for (std::size_t i = 0; i + 1 < ids.size(); ++i) {  // the last one's end is no border
    sum += share(ids[i]);
    least = std::min(least, std::abs(drawn - sum / total_));
  }
  return least;
}

double drawn_number(const SamplingSettings& settings, Index position) {
  // A stream is named by one number: each of prompt and sample makes a key of the one before, the
  // position names the stream within the last.
  const auto key = [](std::uint64_t seed, std::uint32_t stream) {
    Rng keys(seed, RandomPurpose::kSampling, stream);
    const std::uint64_t high = keys.bits();
    return high << 32 | keys.bits();
  };
  std::uint64_t last = key(settings.seed, settings.prompt);
  if (settings.sample > 0) last = key(last, settings.sample);
  return Rng(last, RandomPurpose::kSampling, static_cast<std::uint32_t>(position)).uniform();
}

template <class T>
Choice choose_with_margin(std::span<const T> logits, std::span<const Index> seen,
                          const SamplingSettings& settings, Index position) {
  if (settings.greedy() && settings.repetition_penalty == 1) {  // nothing to rank
    settings.validate();
    check_logits(logits);
    return {largest_logit(logits), lead(logits)};
  }
  NextToken next(logits, seen, settings);
  const double drawn = settings.greedy() ? 0 : drawn_number(settings, position);
  return {next.at(drawn), next.margin(drawn)};
}

template <class T>
Index choose_token(std::span<const T> logits, std::span<const Index> seen,
                   const SamplingSettings& settings, Index position) {
  return choose_with_margin<T>(logits, seen, settings, position).token;
}

#define ATTN_SAMPLING(T)                                                            \
  template NextToken::NextToken(std::span<const T>, std::span<const Index>,         \
                                const SamplingSettings&);                           \
  template Choice choose_with_margin<T>(std::span<const T>, std::span<const Index>, \
                                        const SamplingSettings&, Index);            \
  template Index choose_token<T>(std::span<const T>, std::span<const Index>,        \
                                 const SamplingSettings&, Index)
ATTN_SAMPLING(float);
ATTN_SAMPLING(double);
#undef ATTN_SAMPLING

}  // namespace attn
