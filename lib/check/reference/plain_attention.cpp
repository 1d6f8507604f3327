#include "check/reference/plain_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "check/reference/plain_rounding.h"
#include "core/parallel.h"

namespace attn {

namespace {

constexpr Index kTile = 16;
constexpr Index kLanes = 8;

// The inputs in T, converted once and not for every row.
template <class T>
struct Inputs {
  std::vector<T> q, k, v;
};

template <class T>
std::vector<T> converted(const Tensor<double>& tensor) {
  std::vector<T> values(tensor.values.size());
  for (std::size_t n = 0; n < values.size(); ++n) values[n] = static_cast<T>(tensor.values[n]);
  return values;
}

template <class T>
T running_dot(const T* a, const T* b, Index count) {
  T sum = 0;
  for (Index c = 0; c < count; ++c) sum += a[c] * b[c];
  return sum;
}

template <class T>
T partial_dot(const T* a, const T* b, Index count) {
  std::array<T, kLanes> sums{};
  Index c = 0;
  for (; c + kLanes <= count; c += kLanes) {
    for (Index lane = 0; lane < kLanes; ++lane) {
      sums[static_cast<std::size_t>(lane)] += a[c + lane] * b[c + lane];
    }
  }
  for (; c < count; ++c) sums[0] += a[c] * b[c];
  T sum = 0;
  for (T lane : sums) sum += lane;
  return sum;
}

// One row in T. Members are the row's working memory, reused from row to row.
template <class T>
class PlainRow {
 public:
  PlainRow(const AttentionProblem& problem, const Inputs<T>& inputs, DType dtype, PlainOrder order,
           bool round_scores)
      : problem_(problem),
        inputs_(inputs),
        dtype_(dtype),
        order_(order),
        round_scores_(round_scores),
        scale_(static_cast<T>(problem.scale())) {}

  void compute(Index b, Index h, Index i) {
    b_ = b;
    h_ = h;
    fill_scores(i);
    out_.assign(static_cast<std::size_t>(problem_.value_dim()), 0);
    lse_ = -std::numeric_limits<T>::infinity();
    if (order_ == PlainOrder::kTiled) {
      mix_tiled();
    } else {
      mix_whole();
    }
    for (T& value : out_) value = rounded(value, dtype_);
  }

  void store(Index at, AttentionAnswer& answer) const {
    std::copy(out_.begin(), out_.end(), answer.out.data() + at * static_cast<Index>(out_.size()));
    answer.lse.data()[at] = lse_;
    if (answer.weights.rank() == 0) return;
    double* weights = answer.weights.data() + at * problem_.kv_len();
    double* scores = answer.scores.data() + at * problem_.kv_len();
    std::fill_n(scores, problem_.kv_len(), -std::numeric_limits<double>::infinity());
    for (std::size_t n = 0; n < keys_.size(); ++n) {
      scores[keys_[n]] = scores_[n];
      weights[keys_[n]] = rounded(std::exp(scores_[n] - lse_), dtype_);
    }
  }

 private:
  T score(Index j) {
    const Index features = problem_.head_dim();
    const T* key = row_of(inputs_.k, problem_.kv_head_of(h_), problem_.kv_heads(),
                          problem_.kv_len(), j, features);
    if (order_ == PlainOrder::kScoresScaled) {
      return stepped(stepped(running_dot(query_.data(), key, features)) * scale_);
    }
    if (order_ == PlainOrder::kBothScaled) {
      key_.resize(query_.size());
      for (std::size_t c = 0; c < key_.size(); ++c) key_[c] = stepped(key[c] * std::sqrt(scale_));
      key = key_.data();
    }
    const T product = stepped(partial_dot(query_.data(), key, features));
    return order_ == PlainOrder::kTiled ? stepped(product * scale_) : product;
  }

  const T* row_of(const std::vector<T>& tensor, Index head, Index heads, Index rows, Index row,
                  Index features) const {
    return tensor.data() + ((b_ * heads + head) * rows + row) * features;
  }

  // What is stored between two steps of an implementation that stores everything in its dtype.
  T stepped(T value) const { return round_scores_ ? rounded(value, dtype_) : value; }

  void fill_scores(Index i) {
    const Sight sight = sight_of(problem_, b_, i);
    const auto cap = static_cast<T>(problem_.rules.softcap);
    const T* query =
        row_of(inputs_.q, h_, problem_.heads(), problem_.q_len(), i, problem_.head_dim());
    query_.assign(query, query + problem_.head_dim());
    for (T& value : query_) {
      if (order_ == PlainOrder::kQueriesScaled) value = stepped(value * scale_);
      if (order_ == PlainOrder::kBothScaled) value = stepped(value * std::sqrt(scale_));
    }
    keys_.clear();
    scores_.clear();
    for (Index j = sight.first; j < sight.end; ++j) {
      if (!mask_allows(problem_, b_, h_, i, j)) continue;
      T s = score(j);
      if (cap > 0) s = stepped(cap * std::tanh(s / cap));
      if (!problem_.alibi_slopes.empty()) {
        s -= static_cast<T>(problem_.alibi_slopes[static_cast<std::size_t>(h_)]) *
             static_cast<T>(std::abs(sight.position - j));
      }
      if (problem_.mask && problem_.rules.mask_type == MaskType::kAdditive) {
        s += static_cast<T>(problem_.mask_at(b_, h_, i, j));
      }
      keys_.push_back(j);
      scores_.push_back(stepped(s));
    }
  }

  T sink() const {
    return problem_.sinks.empty() ? -std::numeric_limits<T>::infinity()
                                  : static_cast<T>(problem_.sinks[static_cast<std::size_t>(h_)]);
  }

  void add_value(T weight, Index j) {
    const T* value = row_of(inputs_.v, problem_.kv_head_of(h_), problem_.kv_heads(),
                            problem_.kv_len(), j, problem_.value_dim());
    for (std::size_t c = 0; c < out_.size(); ++c) out_[c] += weight * value[c];
  }

  void mix_whole() {
    if (keys_.empty()) return;
    const T top = std::max(*std::max_element(scores_.begin(), scores_.end()), sink());
    T sum = std::exp(sink() - top);
    for (T s : scores_) sum += std::exp(s - top);
    for (std::size_t n = 0; n < keys_.size(); ++n) {
      add_value(rounded(std::exp(scores_[n] - top) / sum, dtype_), keys_[n]);
    }
    lse_ = top + std::log(sum);
  }

  // Milakov & Gimelshein 2018: what was summed under an older maximum is scaled down.
  void mix_tiled() {
    if (keys_.empty()) return;
    T top = -std::numeric_limits<T>::infinity();
    T sum = 0;
    for (std::size_t begin = 0; begin < keys_.size(); begin += kTile) {
      const std::size_t end = std::min(keys_.size(), begin + kTile);
      T new_top = top;
      for (std::size_t n = begin; n < end; ++n) new_top = std::max(new_top, scores_[n]);
      const T shrink = std::exp(top - new_top);
      for (T& value : out_) value *= shrink;
      T tile_sum = 0;
      for (std::size_t n = begin; n < end; ++n) {
        const T weight = std::exp(scores_[n] - new_top);
        tile_sum += weight;
        add_value(rounded(weight, dtype_), keys_[n]);
      }
      sum = sum * shrink + tile_sum;
      top = new_top;
    }
    const T new_top = std::max(top, sink());
    const T shrink = std::exp(top - new_top);
    sum = sum * shrink + std::exp(sink() - new_top);
    for (T& value : out_) value *= shrink / sum;
    lse_ = new_top + std::log(sum);
  }

  const AttentionProblem& problem_;
  const Inputs<T>& inputs_;
  const DType dtype_;
  const PlainOrder order_;
  const bool round_scores_;
  const T scale_;
  Index b_ = 0;
  Index h_ = 0;
  std::vector<T> query_;
  std::vector<T> key_;
  std::vector<Index> keys_;
  std::vector<T> scores_;
  std::vector<T> out_;
  T lse_ = 0;
};

template <class T>
void fill_answer(const AttentionProblem& problem, DType dtype, PlainOrder order, bool round_scores,
                 int threads, AttentionAnswer& answer) {
  const Inputs<T> inputs = {converted<T>(problem.q), converted<T>(problem.k),
                            converted<T>(problem.v)};
  const Index heads = problem.batch() * problem.heads();
  const Index rows = problem.q_len();
  constexpr Index kRowsPerTask = 16;
  const Index blocks = (rows + kRowsPerTask - 1) / kRowsPerTask;
  parallel_for(heads * blocks, threads, [&](Index task, int) {
    const Index head = task / blocks;
    const Index begin = task % blocks * kRowsPerTask;
    PlainRow<T> row(problem, inputs, dtype, order, round_scores);
    for (Index i = begin; i < std::min(rows, begin + kRowsPerTask); ++i) {
      row.compute(head / problem.heads(), head % problem.heads(), i);
      row.store(head * rows + i, answer);
    }
  });
}

}  // namespace

AttentionAnswer plain_attention(const AttentionProblem& problem, DType dtype, PlainOrder order,
                                bool round_scores, bool maps, int threads) {
  const Shape rows = {problem.batch(), problem.heads(), problem.q_len()};
  AttentionAnswer answer;
  answer.out = Tensor<double>({rows[0], rows[1], rows[2], problem.value_dim()});
  answer.lse = Tensor<double>(rows);
  if (maps) {
    answer.weights = Tensor<double>({rows[0], rows[1], rows[2], problem.kv_len()});
    answer.scores = answer.weights;
  }
  if (dtype == DType::kF64) {
    fill_answer<double>(problem, dtype, order, round_scores, threads, answer);
  } else {
    fill_answer<float>(problem, dtype, order, round_scores, threads, answer);
  }
  return answer;
}

}  // namespace attn
