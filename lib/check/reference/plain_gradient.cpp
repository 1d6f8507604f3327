#include "check/reference/plain_gradient.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "check/reference/plain_rounding.h"
#include "core/error.h"
#include "core/parallel.h"

namespace attn {

namespace {

template <class T>
std::vector<T> converted(const double* from, Index count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (Index n = 0; n < count; ++n) values[static_cast<std::size_t>(n)] = static_cast<T>(from[n]);
  return values;
}

// One running sum, or eight side by side.
template <class T>
T product(const T* a, const T* b, Index count, Index lanes) {
  T sums[8] = {};
  for (Index c = 0; c < count; ++c) sums[c % lanes] += a[c] * b[c];
  T sum = 0;
  for (T lane : sums) sum += lane;
  return sum;
}

template <class T>
void add_scaled(T factor, const T* from, Index count, T* to) {
  for (Index c = 0; c < count; ++c) to[c] += factor * from[c];
}

// The query heads of one key-value head of one sequence.
template <class T>
class PlainGroup {
 public:
  PlainGroup(const AttentionProblem& problem, const Tensor<double>& d_out, DType dtype,
             BackwardOrder order, bool round_steps)
      : problem_(problem),
        d_out_(d_out),
        dtype_(dtype),
        order_(order),
        round_steps_(round_steps),
        lanes_(order == BackwardOrder::kWholeRows ? 1 : 8),
        scale_(static_cast<T>(problem.scale())),
        root_(static_cast<T>(std::sqrt(std::abs(problem.scale())))) {}

  void compute(Index b, Index kv_head, AttentionGradient& gradient) {
    const Index keys = problem_.kv_len();
    const Index dim = problem_.head_dim();
    const Index value_dim = problem_.value_dim();
    k_ = converted<T>(problem_.k_row(b, kv_head, 0), keys * dim);
    v_ = converted<T>(problem_.v_row(b, kv_head, 0), keys * value_dim);
    scaled_k_ = k_;
    if (order_ == BackwardOrder::kBothScaled) {
      for (T& value : scaled_k_) value = stepped(value * root_);
    }
    std::vector<T> sum_k(k_.size());
    std::vector<T> sum_v(v_.size());
    const Index group = problem_.heads() / problem_.kv_heads();
    for (Index h = kv_head * group; h < (kv_head + 1) * group; ++h) {
      d_k_.assign(k_.size(), 0);
      d_v_.assign(v_.size(), 0);
      for (Index i = 0; i < problem_.q_len(); ++i) row(b, h, i, gradient);
      finish_keys();
      for (std::size_t n = 0; n < sum_k.size(); ++n) sum_k[n] += stepped(d_k_[n]);
      for (std::size_t n = 0; n < sum_v.size(); ++n) sum_v[n] += stepped(d_v_[n]);
    }
    const Index first = (b * problem_.kv_heads() + kv_head) * keys;
    for (std::size_t n = 0; n < sum_k.size(); ++n) {
      gradient.d_k.data()[first * dim + static_cast<Index>(n)] = rounded(sum_k[n], dtype_);
    }
    for (std::size_t n = 0; n < sum_v.size(); ++n) {
      gradient.d_v.data()[first * value_dim + static_cast<Index>(n)] = rounded(sum_v[n], dtype_);
    }
  }

 private:
  T stepped(T value) const { return round_steps_ ? rounded(value, dtype_) : value; }
  const T* key(Index j) const { return scaled_k_.data() + j * problem_.head_dim(); }
  const T* value(Index j) const { return v_.data() + j * problem_.value_dim(); }

  T scaled_query(T value) const {
    if (order_ == BackwardOrder::kQueriesScaled) return stepped(value * scale_);
    if (order_ == BackwardOrder::kBothScaled) return stepped(value * root_);
    return value;
  }

  // Scores of the keys that are seen, and the slope of the cap at each.
  void fill_scores(Index b, Index h, Index i) {
    const Sight sight = sight_of(problem_, b, i);
    const auto cap = static_cast<T>(problem_.rules.softcap);
    keys_.clear();
    scores_.clear();
    slopes_.clear();
    for (Index j = sight.first; j < sight.end; ++j) {
      if (!mask_allows(problem_, b, h, i, j)) continue;
      T s = stepped(product(scaled_q_.data(), key(j), problem_.head_dim(), lanes_));
      if (order_ == BackwardOrder::kWholeRows || order_ == BackwardOrder::kStoredSums) {
        s = stepped(s * scale_);
      } else if (order_ == BackwardOrder::kBothScaled && scale_ < 0) {
        s = -s;
      }
      T slope = 1;
      if (cap > 0) {
        const T bent = std::tanh(s / cap);
        slope = 1 - bent * bent;
        s = stepped(cap * bent);
      }
      if (!problem_.alibi_slopes.empty()) {
        s -= static_cast<T>(problem_.alibi_slopes[static_cast<std::size_t>(h)]) *
             static_cast<T>(std::abs(sight.position - j));
      }
      if (problem_.mask && problem_.rules.mask_type == MaskType::kAdditive) {
        s += static_cast<T>(problem_.mask_at(b, h, i, j));
      }
      keys_.push_back(j);
      scores_.push_back(stepped(s));
      slopes_.push_back(slope);
    }
  }

  void fill_weights(Index h) {
    const T sink = problem_.sinks.empty()
                       ? -std::numeric_limits<T>::infinity()
                       : static_cast<T>(problem_.sinks[static_cast<std::size_t>(h)]);
    const T top = std::max(*std::max_element(scores_.begin(), scores_.end()), sink);
    T sum = std::exp(sink - top);
    for (T s : scores_) sum += std::exp(s - top);
    const T lse = top + std::log(sum);
    weights_.clear();
    for (T s : scores_) {
      const bool stored = order_ == BackwardOrder::kStoredSums;
      weights_.push_back(stored ? std::exp(s - lse) : stepped(std::exp(s - top) / sum));
    }
  }

  T delta_of(const std::vector<T>& d_out, const std::vector<T>& d_weights) const {
    T delta = 0;
    if (order_ != BackwardOrder::kStoredSums) {
      for (std::size_t n = 0; n < weights_.size(); ++n) delta += weights_[n] * d_weights[n];
      return delta;
    }
    std::vector<T> out(d_out.size());
    for (std::size_t n = 0; n < weights_.size(); ++n) {
      add_scaled(rounded(weights_[n], dtype_), value(keys_[n]), problem_.value_dim(), out.data());
    }
    for (std::size_t c = 0; c < out.size(); ++c) delta += rounded(out[c], dtype_) * d_out[c];
    return delta;
  }

  void row(Index b, Index h, Index i, AttentionGradient& gradient) {
    const Index dim = problem_.head_dim();
    const Index value_dim = problem_.value_dim();
    const Index at = (b * problem_.heads() + h) * problem_.q_len() + i;
    const std::vector<T> d_out = converted<T>(d_out_.data() + at * value_dim, value_dim);
    const std::vector<T> query = converted<T>(problem_.q_row(b, h, i), dim);
    scaled_q_ = query;
    for (T& value : scaled_q_) value = scaled_query(value);
    fill_scores(b, h, i);
    if (keys_.empty()) return;
    fill_weights(h);
    std::vector<T> d_weights;
    for (std::size_t n = 0; n < keys_.size(); ++n) {
      d_weights.push_back(stepped(product(d_out.data(), value(keys_[n]), value_dim, lanes_)));
      add_scaled(rounded(weights_[n], dtype_), d_out.data(), value_dim,
                 d_v_.data() + keys_[n] * value_dim);
    }
    const T delta = delta_of(d_out, d_weights);
    std::vector<T> d_query(query.size());
    for (std::size_t n = 0; n < keys_.size(); ++n) {
      T d_score = weights_[n] * (d_weights[n] - delta) * slopes_[n];
      if (order_ == BackwardOrder::kWholeRows) d_score = stepped(d_score) * scale_;
      d_score = rounded(d_score, dtype_);
      add_scaled(d_score, key(keys_[n]), dim, d_query.data());
      add_scaled(d_score, scaled_q_.data(), dim, d_k_.data() + keys_[n] * dim);
    }
    double* target = gradient.d_q.data() + at * dim;
    for (Index c = 0; c < dim; ++c) {
      target[c] = rounded(stepped(d_query[static_cast<std::size_t>(c)]) * query_end(), dtype_);
    }
  }

  // What is left of the scale when a query's sum ends, and a key's.
  T query_end() const {
    if (order_ == BackwardOrder::kWholeRows) return 1;
    if (order_ == BackwardOrder::kBothScaled) return scale_ < 0 ? -root_ : root_;
    return scale_;
  }

  void finish_keys() {
    T end = 1;
    if (order_ == BackwardOrder::kStoredSums) end = scale_;
    if (order_ == BackwardOrder::kBothScaled) end = scale_ < 0 ? -root_ : root_;
    for (T& value : d_k_) value *= end;
  }

  const AttentionProblem& problem_;
  const Tensor<double>& d_out_;
  const DType dtype_;
  const BackwardOrder order_;
  const bool round_steps_;
  const Index lanes_;
  const T scale_, root_;
  std::vector<T> k_, v_, scaled_k_, scaled_q_, d_k_, d_v_;
  std::vector<Index> keys_;
  std::vector<T> scores_, slopes_, weights_;
};

template <class T>
void fill(const AttentionProblem& problem, const Tensor<double>& d_out, DType dtype,
          BackwardOrder order, bool round_steps, int threads, AttentionGradient& gradient) {
  parallel_for(problem.batch() * problem.kv_heads(), threads, [&](Index task, int) {
    PlainGroup<T> group(problem, d_out, dtype, order, round_steps);
    group.compute(task / problem.kv_heads(), task % problem.kv_heads(), gradient);
  });
}

}  // namespace

AttentionGradient plain_gradient(const AttentionProblem& problem, const Tensor<double>& d_out,
                                 DType dtype, BackwardOrder order, bool round_steps, int threads) {
  AttentionGradient gradient = no_gradient(problem);
  if (dtype == DType::kF64) {
    fill<double>(problem, d_out, dtype, order, round_steps, threads, gradient);
  } else {
    fill<float>(problem, d_out, dtype, order, round_steps, threads, gradient);
  }
  return gradient;
}

}  // namespace attn
