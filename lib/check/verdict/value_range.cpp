#include "check/verdict/value_range.h"

#include <algorithm>
#include <limits>

namespace attn {

namespace {

constexpr Index kBlock = 64;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

ValueRange::ValueRange(const AttentionProblem& problem, Index b, Index kv_head)
    : problem_(problem),
      b_(b),
      kv_head_(kv_head),
      features_(static_cast<std::size_t>(problem.value_dim())) {
  for (Index first = 0; first + kBlock <= problem.kv_len(); first += kBlock) {
    start();
    widen_by_keys(first, first + kBlock);
    block_least_.insert(block_least_.end(), least_.begin(), least_.end());
    block_most_.insert(block_most_.end(), most_.begin(), most_.end());
  }
}

void ValueRange::start() {
  least_.assign(features_, kInfinity);
  most_.assign(features_, -kInfinity);
}

void ValueRange::widen(const double* least, const double* most) {
  for (std::size_t c = 0; c < features_; ++c) least_[c] = std::min(least_[c], least[c]);
  for (std::size_t c = 0; c < features_; ++c) most_[c] = std::max(most_[c], most[c]);
}

void ValueRange::widen_by_keys(Index first, Index end) {
  for (Index j = first; j < end; ++j) {
    const double* value = problem_.v_row(b_, kv_head_, j);
    widen(value, value);
  }
}

void ValueRange::take(Index first, Index end) {
  if (first == first_ && end >= end_ && end_ > first_) {
    widen_by_keys(end_, end);
    end_ = end;
    return;
  }
  start();
  first_ = first;
  end_ = end;
  const Index whole_from = (first + kBlock - 1) / kBlock;
  const Index whole_to = end / kBlock;
  if (whole_from >= whole_to) return widen_by_keys(first, end);
  widen_by_keys(first, whole_from * kBlock);
  for (Index block = whole_from; block < whole_to; ++block) {
    const auto at = static_cast<std::size_t>(block) * features_;
    widen(block_least_.data() + at, block_most_.data() + at);
  }
  widen_by_keys(whole_to * kBlock, end);
}

}  // namespace attn
