#include "model/beam.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace attn {
namespace {

// A hypothesis of the next pool: its parent's place in this one, and the token it adds.
struct Continuation {
  std::size_t parent = 0;
  Index token = -1;     // none: a finished hypothesis, as it is
  double log_prob = 0;  // of the token
  double score = 0;
};

bool better(const Continuation& a, const Continuation& b) {
  if (a.score != b.score) return a.score > b.score;
  return a.parent != b.parent ? a.parent < b.parent : a.token < b.token;
}

template <class T>
class BeamSearch {
 public:
  BeamSearch(DecodeSession<T>& session, const BeamSettings& settings)
      : session_(session), settings_(settings), pool_(1), rows_{0} {}

  BeamResult run(std::span<const Index> prompt) {
    std::vector<Index> fed(prompt.begin(), prompt.end());
    for (Index round = 0; round < settings_.new_tokens && !fed.empty(); ++round) {
      if (round > 0) session_.fork(rows_);
      const Matrix<const T> logits = session_.feed_each(fed);
      if (session_.cache() != nullptr) {
        result_.cache_bytes = std::max(result_.cache_bytes, session_.cache()->bytes());
      }
      fed = keep(ranked(logits));
      if (settings_.keep_rounds) result_.rounds.push_back(pool_);
    }
    if (settings_.new_tokens > 0) result_.hypotheses = std::move(pool_);
    result_.counts = session_.counts();
    return std::move(result_);
  }

 private:
  std::size_t width() const { return static_cast<std::size_t>(settings_.width); }

  // The best of all continuations, one more than are kept: by how much it loses is told.
  std::vector<Continuation> ranked(const Matrix<const T>& logits) {
    std::vector<Continuation> all;
    Index row = 0;
    for (std::size_t parent = 0; parent < pool_.size(); ++parent) {
      if (pool_[parent].finished()) {
        all.push_back({parent, -1, 0, pool_[parent].score});
      } else {
        add_continuations(parent, logits, row++, all);
        // Now and then, so that memory does not grow as the width squared, nor time.
        if (all.size() > 4 * (width() + 1)) keep_best(all);
      }
    }
    keep_best(all);
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      result_.smallest_lead = std::min(result_.smallest_lead, all[i].score - all[i + 1].score);
    }
    if (all.size() > width()) all.resize(width());
    return all;
  }

  // As many as are kept and one more, in order.
  void keep_best(std::vector<Continuation>& all) const {
    const std::size_t wanted = std::min(all.size(), width() + 1);
    std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(wanted), all.end(),
                      better);
    all.resize(wanted);
  }

  // Of one hypothesis no more are wanted than of all.
  void add_continuations(std::size_t parent, const Matrix<const T>& logits, Index row,
                         std::vector<Continuation>& all) const {
    const auto vocab_size = static_cast<std::size_t>(logits.cols());
    const std::vector<double> log_probs =
        log_probabilities(std::span<const T>(logits.row(row), vocab_size));
    const Hypothesis& before = pool_[parent];
    const double divisor =
        std::pow(static_cast<double>(before.tokens.size() + 1), settings_.length_penalty);
    std::vector<Continuation> own(vocab_size);
    for (std::size_t token = 0; token < vocab_size; ++token) {
      const double log_prob = log_probs[token];
      if (!(log_prob <= 0)) {
        throw DataError(
            fmt::format("the log-probability of token {} is {}: the model's logits are "
                        "not finite numbers",
                        token, log_prob));
      }
      own[token] = {parent, static_cast<Index>(token), log_prob,
                    (before.log_prob + log_prob) / divisor};
    }
    keep_best(own);
    all.insert(all.end(), own.begin(), own.end());
  }

  // Makes them the pool. Returns the tokens of those that go on; rows_ are the sequences of the
  // session that these go on from.
  std::vector<Index> keep(const std::vector<Continuation>& kept) {
    std::vector<Index> row_of(pool_.size(), -1);
    Index row = 0;
    for (std::size_t i = 0; i < pool_.size(); ++i) {
      if (!pool_[i].finished()) row_of[i] = row++;
    }
    std::vector<Hypothesis> next;
    std::vector<Index> tokens;
    rows_.clear();
    for (const Continuation& one : kept) {
      Hypothesis& hypothesis = next.emplace_back(pool_[one.parent]);
      if (one.token < 0) continue;
      hypothesis.tokens.push_back(one.token);
      hypothesis.log_probs.push_back(one.log_prob);
      hypothesis.log_prob += one.log_prob;
      hypothesis.score = one.score;
      if (settings_.eos == one.token) {
        hypothesis.finish = Finish::kEos;
      } else if (std::count(settings_.stop_ids.begin(), settings_.stop_ids.end(), one.token) > 0) {
        hypothesis.finish = Finish::kStopToken;
      } else {
        tokens.push_back(one.token);
        rows_.push_back(row_of[one.parent]);
      }
    }
    pool_ = std::move(next);
    return tokens;
  }

  DecodeSession<T>& session_;
  const BeamSettings& settings_;
  std::vector<Hypothesis> pool_;
  std::vector<Index> rows_;
  BeamResult result_;
};

}  // namespace

template <class T>
BeamResult search_beams(const Transformer<T>& model, const SourceTokens* source,
                        std::span<const Index> prompt, const BeamSettings& settings) {
  if (settings.width < 1) {
    throw UsageError(fmt::format("--beams must be at least 1: got {}", settings.width));
  }
  if (!std::isfinite(settings.length_penalty)) {
    throw UsageError(
        fmt::format("--length-penalty must be a finite number: got {}", settings.length_penalty));
  }
  auto session = begin_session<T>(model, source, prompt, settings);
  return BeamSearch<T>(session, settings).run(prompt);
}

template BeamResult search_beams<float>(const Transformer<float>&, const SourceTokens*,
                                        std::span<const Index>, const BeamSettings&);
template BeamResult search_beams<double>(const Transformer<double>&, const SourceTokens*,
                                         std::span<const Index>, const BeamSettings&);

}  // namespace attn
