#include "check/reference/reference_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "check/reference/reference_products.h"
#include "check/reference/score_terms.h"
#include "core/parallel.h"

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Index kRowsPerTask = 16;

// One key-value head's tables for the products.
struct HeadTables {
  Panels keys;                    // (features, kv_len)
  Panels values;                  // (kv_len, features)
  std::vector<Index> not_finite;  // keys whose values hold a NaN or an infinity, rising

  HeadTables(const AttentionProblem& problem, Index b, Index kv_head)
      : keys(Panels::of_rows({problem.k_row(b, kv_head, 0), problem.kv_len(), problem.head_dim()})),
        values(Panels::of_columns(
            {problem.v_row(b, kv_head, 0), problem.kv_len(), problem.value_dim()})) {
    for (Index j = 0; j < problem.kv_len(); ++j) {
      const double* value = problem.v_row(b, kv_head, j);
      const auto finite = [](double x) { return std::isfinite(x); };
      if (!std::all_of(value, value + problem.value_dim(), finite)) not_finite.push_back(j);
    }
  }

  bool all_finite(Index first, Index end) const {
    const auto at = std::lower_bound(not_finite.begin(), not_finite.end(), first);
    return at == not_finite.end() || *at >= end;
  }
};

// A hidden key's weight is minus zero until it is stored: one that is seen may have weight zero
// too, and only that one passes on the NaN of its value.
constexpr double kHiddenWeight = -0.0;

bool is_hidden(double weight) {
  return weight == 0 && std::signbit(weight);
}

// Some rows of one head; members are their working memory, reused from block to block.
class RowBlock {
 public:
  RowBlock(const AttentionProblem& problem, AttentionAnswer& answer)
      : problem_(problem), answer_(answer) {}

  void compute(const HeadTables& tables, Index b, Index h, Index first_row, Index rows) {
    b_ = b;
    h_ = h;
    first_row_ = first_row;
    sights_.clear();
    Index first = problem_.kv_len();
    Index end = 0;
    for (Index r = 0; r < rows; ++r) {
      const Sight sight = sight_of(problem_, b, first_row + r);
      sights_.push_back(sight);
      if (sight.end <= sight.first) continue;
      first = std::min(first, sight.first);
      end = std::max(end, sight.end);
    }
    first = std::min(first, end);
    const Index panel = first / kLanes;
    const Index panels = (end + kLanes - 1) / kLanes - panel;
    first_key_ = panel * kLanes;
    keys_ = end - first_key_;
    scores_.resize(static_cast<std::size_t>(rows * panels * kLanes));
    const Matrix<double> scores(scores_.data(), rows, panels * kLanes);
    multiply_keys({problem_.q_row(b, h, first_row), rows, problem_.head_dim()}, tables.keys, panel,
                  panel + panels, scores);
    out_.assign(static_cast<std::size_t>(rows * tables.values.count() * kLanes), 0);
    const Matrix<double> out(out_.data(), rows, tables.values.count() * kLanes);
    for (Index r = 0; r < rows; ++r) finish_row(r, scores.row(r), out.row(r));
    const Matrix<double> weights(scores_.data(), rows, keys_, scores.stride());
    if (tables.all_finite(first_key_, end)) {
      mix_values(weights, tables.values, first_key_, out);
    } else {
      mix_seen(weights, out);
    }
    for (Index r = 0; r < rows; ++r) store(r, weights.row(r), out.row(r));
  }

 private:
  Index place(Index r) const {
    return (b_ * problem_.heads() + h_) * problem_.q_len() + first_row_ + r;
  }

  // From q.k to scores, and from scores to weights, in place.
  void finish_row(Index r, double* row, double* out) {
    const Sight& sight = sights_[static_cast<std::size_t>(r)];
    const double scale = problem_.scale();
    const double cap = problem_.rules.softcap;
    const bool biased = !problem_.alibi_slopes.empty() || problem_.mask;
    Index seen = 0;
    double top = -kInfinity;
    bool poisoned = false;
    for (Index t = 0; t < keys_; ++t) {
      const Index j = first_key_ + t;
      double score = -kInfinity;
      if (j >= sight.first && j < sight.end && mask_allows(problem_, b_, h_, first_row_ + r, j)) {
        score = row[t] * scale;
        if (cap > 0) score = capped(score, cap);
        if (biased) score += score_bias(problem_, b_, h_, first_row_ + r, j, sight.position);
        seen += score == -kInfinity ? 0 : 1;
        top = std::max(top, score);
        poisoned = poisoned || std::isnan(score);
      }
      row[t] = score;
    }
    if (answer_.scores.rank() != 0) {
      double* kept = answer_.scores.data() + place(r) * problem_.kv_len();
      std::fill_n(kept, problem_.kv_len(), -kInfinity);
      std::copy_n(row, keys_, kept + first_key_);
    }
    answer_.lse.data()[place(r)] = -kInfinity;
    if (seen == 0) {
      const bool nan = problem_.rules.fully_masked == FullyMasked::kNan;
      std::fill_n(row, keys_, nan ? kNan : kHiddenWeight);
      std::fill_n(out, problem_.value_dim(), nan ? kNan : 0);
      return;
    }
    if (poisoned) top = kNan;
    const double sink =
        problem_.sinks.empty() ? -kInfinity : problem_.sinks[static_cast<std::size_t>(h_)];
    if (sink > top) top = sink;
    double sum = std::exp(sink - top);
    for (Index t = 0; t < keys_; ++t) {
      if (row[t] == -kInfinity) {
        row[t] = kHiddenWeight;
        continue;
      }
      row[t] = std::exp(row[t] - top);
      sum += row[t];
    }
    answer_.lse.data()[place(r)] = top + std::log(sum);
    for (Index t = 0; t < keys_; ++t) row[t] /= sum;
  }

  // Where a value is no number, hidden keys must be stepped over.
  void mix_seen(Matrix<const double> weights, Matrix<double> out) const {
    for (Index r = 0; r < weights.rows(); ++r) {
      for (Index t = 0; t < weights.cols(); ++t) {
        if (is_hidden(weights(r, t))) continue;
        const double* value = problem_.v_row(b_, problem_.kv_head_of(h_), first_key_ + t);
        for (Index c = 0; c < problem_.value_dim(); ++c) out(r, c) += weights(r, t) * value[c];
      }
    }
  }

  void store(Index r, const double* weights, const double* out) {
    std::copy_n(out, problem_.value_dim(), answer_.out.data() + place(r) * problem_.value_dim());
    if (answer_.weights.rank() == 0) return;
    double* kept = answer_.weights.data() + place(r) * problem_.kv_len();
    for (Index t = 0; t < keys_; ++t) kept[first_key_ + t] = weights[t] + 0.0;  // no minus zero
    const bool dead = answer_.lse.data()[place(r)] == -kInfinity;
    if (dead && problem_.rules.fully_masked == FullyMasked::kNan) {
      std::fill_n(kept, problem_.kv_len(), kNan);
    }
  }

  const AttentionProblem& problem_;
  AttentionAnswer& answer_;
  Index b_ = 0;
  Index h_ = 0;
  Index first_row_ = 0;
  Index first_key_ = 0;  // of the first score
  Index keys_ = 0;
  std::vector<Sight> sights_;
  std::vector<double> scores_;  // (rows, keys to whole panels), later the weights
  std::vector<double> out_;     // (rows, features to whole panels)
};

template <class Task>
void for_each_row(const AttentionProblem& problem, int threads, const Task& task) {
  const Index rows = problem.batch() * problem.heads() * problem.q_len();
  const Index tasks = (rows + kRowsPerTask - 1) / kRowsPerTask;
  parallel_for(tasks, threads, [&](Index block, int) {
    const Index end = std::min(rows, (block + 1) * kRowsPerTask);
    for (Index row = block * kRowsPerTask; row < end; ++row) {
      const Index i = row % problem.q_len();
      const Index head = row / problem.q_len();
      task(row, head / problem.heads(), head % problem.heads(), i);
    }
  });
}

}  // namespace

AttentionAnswer reference_attention(const AttentionProblem& problem, bool maps, int threads) {
  const Shape rows = {problem.batch(), problem.heads(), problem.q_len()};
  const auto with_columns = [&rows](Index columns) {
    Shape shape = rows;
    shape.push_back(columns);
    return shape;
  };
  AttentionAnswer answer;
  answer.out = Tensor<double>(with_columns(problem.value_dim()));
  answer.lse = Tensor<double>(rows);
  if (maps) {
    answer.weights = Tensor<double>(with_columns(problem.kv_len()));
    answer.scores = Tensor<double>(with_columns(problem.kv_len()));
  }
  const Index group = problem.heads() / problem.kv_heads();
  const Index blocks = (problem.q_len() + kRowsPerTask - 1) / kRowsPerTask;
  std::vector<RowBlock> workers(static_cast<std::size_t>(std::max(threads, 1)),
                                RowBlock(problem, answer));
  for (Index head = 0; head < problem.batch() * problem.kv_heads(); ++head) {
    const Index b = head / problem.kv_heads();
    const Index kv_head = head % problem.kv_heads();
    const HeadTables tables(problem, b, kv_head);
    parallel_for(group * blocks, threads, [&](Index task, int worker) {
      const Index first = task % blocks * kRowsPerTask;
      workers[static_cast<std::size_t>(worker)].compute(
          tables, b, kv_head * group + task / blocks, first,
          std::min(kRowsPerTask, problem.q_len() - first));
    });
  }
  return answer;
}

Tensor<double> reference_scores(const AttentionProblem& problem, ScoreStage stage, int threads) {
  if (stage == ScoreStage::kMasked) return reference_attention(problem, true, threads).scores;
  AttentionProblem open = problem;  // what lengths and packing leave, without mask and window
  open.rules.causal = false;
  open.rules.window_left = -1;
  open.rules.window_right = -1;
  const Index keys = problem.kv_len();
  Tensor<double> scores({problem.batch(), problem.heads(), problem.q_len(), keys});
  std::fill(scores.values.begin(), scores.values.end(), kNan);
  const double cap = stage == ScoreStage::kSoftcapped ? problem.rules.softcap : 0;
  for_each_row(problem, threads, [&](Index at, Index b, Index h, Index i) {
    const Sight sight = sight_of(open, b, i);
    for (Index j = sight.first; j < sight.end; ++j) {
      scores.data()[at * keys + j] = capped(raw_score(problem, b, h, i, j), cap);
    }
  });
  return scores;
}

}  // namespace attn
