#include "check/head_stats.h"

#include <algorithm>
#include <unordered_map>

#include "check/verdict/saturation.h"
#include "core/error.h"

namespace attn {

namespace {

// For each position the one that its token stood at last before; -1 where it is new.
std::vector<Index> last_occurrences(const std::vector<Index>& tokens) {
  std::unordered_map<Index, Index> last;
  std::vector<Index> found;
  for (std::size_t n = 0; n < tokens.size(); ++n) {
    const auto [at, is_new] = last.try_emplace(tokens[n], static_cast<Index>(n));
    found.push_back(is_new ? -1 : at->second);
    at->second = static_cast<Index>(n);
  }
  return found;
}

class HeadSum {
 public:
  HeadSum(Index keys, const std::vector<Index>& last) : keys_(keys), last_(last) {}

  void add(const double* weights, Index position) {
    const bool dead = std::all_of(weights, weights + keys_, [](double w) { return !(w > 0); });
    if (dead) return;
    ++stats_.rows;
    stats_.entropy += entropy_of(weights, keys_);
    stats_.first += weights[0];
    const bool inside = position >= 0 && position < keys_;
    if (inside) stats_.self += weights[position];
    if (position >= 1 && position <= keys_) {
      stats_.previous += weights[position - 1];
      ++with_previous_;
    }
    for (Index j = std::max<Index>(position + 1, 0); j < keys_; ++j) stats_.future += weights[j];
    if (!inside || last_.empty()) return;
    const Index before = last_[static_cast<std::size_t>(position)];
    if (before < 0) return;
    induction_ += weights[before + 1];
    ++recurring_;
  }

  HeadStats mean() const {
    HeadStats stats = stats_;
    const double rows = static_cast<double>(std::max<Index>(stats.rows, 1));
    for (double* sum : {&stats.entropy, &stats.self, &stats.first, &stats.future}) *sum /= rows;
    stats.previous /= static_cast<double>(std::max<Index>(with_previous_, 1));
    if (recurring_ > 0) stats.induction = induction_ / static_cast<double>(recurring_);
    return stats;
  }

 private:
  const Index keys_;
  const std::vector<Index>& last_;
  HeadStats stats_;
  Index with_previous_ = 0;
  double induction_ = 0;
  Index recurring_ = 0;
};

}  // namespace

std::vector<HeadStats> head_stats(const Tensor<double>& weights, const PositionOf& position,
                                  const std::vector<Index>& tokens) {
  require_shape(weights.rank() == 4, "head stats: want (sequence, head, query, key)");
  const Index keys = weights.dim(3);
  require_shape(tokens.empty() || static_cast<Index>(tokens.size()) == keys,
                "head stats: want a token for each key");
  const std::vector<Index> last = last_occurrences(tokens);
  std::vector<HeadStats> all;
  const double* row = weights.data();
  for (Index sequence = 0; sequence < weights.dim(0); ++sequence) {
    for (Index head = 0; head < weights.dim(1); ++head) {
      HeadSum sum(keys, last);
      for (Index i = 0; i < weights.dim(2); ++i, row += keys) {
        if (keys > 0) sum.add(row, position(sequence, i));
      }
      HeadStats stats = sum.mean();
      stats.sequence = sequence;
      stats.head = head;
      all.push_back(stats);
    }
  }
  return all;
}

}  // namespace attn
