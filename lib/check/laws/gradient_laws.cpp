#include "check/laws/gradient_laws.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Calls task(b, kv_head) for each key-value head of each sequence.
template <class Task>
void for_each_kv_head(const AttentionProblem& problem, const Task& task) {
  for (Index b = 0; b < problem.batch(); ++b) {
    for (Index kv_head = 0; kv_head < problem.kv_heads(); ++kv_head) task(b, kv_head);
  }
}

// Keys that some query of the group sees, and rows (head by head) that see a key.
struct Seen {
  std::vector<char> keys, rows;
};

Seen seen_in(const AttentionProblem& problem, Index b, Index kv_head) {
  const Index group = problem.heads() / problem.kv_heads();
  Seen seen;
  seen.keys.resize(static_cast<std::size_t>(problem.kv_len()));
  for (Index h = kv_head * group; h < (kv_head + 1) * group; ++h) {
    for (Index i = 0; i < problem.q_len(); ++i) {
      const Sight sight = sight_of(problem, b, i);
      char any = 0;
      for (Index j = sight.first; j < sight.end; ++j) {
        if (!mask_allows(problem, b, h, i, j)) continue;
        seen.keys[static_cast<std::size_t>(j)] = 1;
        any = 1;
      }
      seen.rows.push_back(any);
    }
  }
  return seen;
}

// The worst of many comparisons.
class Worst {
 public:
  explicit Worst(const char* name) {
    check_.name = name;
    check_.outcome = Outcome::kPass;
  }

  void hold(double error, double limit, std::vector<Index> where) {
    if (std::isnan(error)) error = kInfinity;
    if (!(error <= limit)) check_.outcome = Outcome::kFail;  // NaN makes a limit of NaN
    double ratio = 0;
    if (error > 0) ratio = limit > 0 ? error / limit : kInfinity;
    if (ratio <= ratio_) return;
    ratio_ = ratio;
    check_.max_error = error;
    check_.limit = limit;
    check_.where = std::move(where);
  }

  const Check& check() const { return check_; }

 private:
  Check check_;
  double ratio_ = -1;
};

double largest(const double* row, Index count) {
  double size = 0;
  for (Index c = 0; c < count; ++c) {
    if (std::isnan(row[c])) return kInfinity;
    size = std::max(size, std::abs(row[c]));
  }
  return size;
}

}  // namespace

Check hidden_gradients_zero(const AttentionCase& recorded) {
  const AttentionProblem& problem = recorded.problem;
  const GradientRecord& gradient = *recorded.gradient;
  Worst worst("hidden-gradients-zero");
  Index hidden = 0;
  const Index group = problem.heads() / problem.kv_heads();
  for_each_kv_head(problem, [&](Index b, Index kv_head) {
    const Seen seen = seen_in(problem, b, kv_head);
    const auto zero = [&](const std::optional<Tensor<double>>& tensor, Index head, Index row) {
      if (!tensor) return;
      ++hidden;
      const Index features = tensor->dim(3);
      const Index at = ((b * tensor->dim(1) + head) * tensor->dim(2) + row) * features;
      const double size = largest(tensor->data() + at, features);
      worst.hold(size, 0, {b, head, row, 0});
    };
    for (Index j = 0; j < problem.kv_len(); ++j) {
      if (seen.keys[static_cast<std::size_t>(j)] != 0) continue;
      zero(gradient.d_k, kv_head, j);
      zero(gradient.d_v, kv_head, j);
    }
    if (problem.rules.fully_masked == FullyMasked::kNan) return;
    for (Index n = 0; n < group * problem.q_len(); ++n) {
      if (seen.rows[static_cast<std::size_t>(n)] != 0) continue;
      zero(gradient.d_q, kv_head * group + n / problem.q_len(), n % problem.q_len());
    }
  });
  return hidden > 0 ? worst.check() : not_checked(worst.check().name, "nothing is hidden");
}

Check d_v_sums_to_d_out(const AttentionCase& recorded, double unit) {
  const AttentionProblem& problem = recorded.problem;
  const char* name = "dv-sums-to-dout";
  if (!recorded.gradient->d_v) return not_checked(name, "no dv");
  if (!problem.sinks.empty()) return not_checked(name, "a sink takes a share");
  const Tensor<double>& d_v = *recorded.gradient->d_v;
  const Tensor<double>& d_out = recorded.gradient->d_out;
  const Index group = problem.heads() / problem.kv_heads();
  const Index features = problem.value_dim();
  const Index keys = problem.kv_len();
  Worst worst(name);
  for_each_kv_head(problem, [&](Index b, Index kv_head) {
    const Seen seen = seen_in(problem, b, kv_head);
    const Index first_row = (b * problem.heads() + kv_head * group) * problem.q_len();
    const Index first_key = (b * problem.kv_heads() + kv_head) * keys;
    for (Index c = 0; c < features; ++c) {
      double sum = 0;
      double size = 0;
      for (Index n = 0; n < group * problem.q_len(); ++n) {
        if (seen.rows[static_cast<std::size_t>(n)] == 0) continue;
        sum -= d_out.data()[(first_row + n) * features + c];
      }
      for (Index j = 0; j < keys; ++j) {
        sum += d_v.data()[(first_key + j) * features + c];
        size += std::abs(d_v.data()[(first_key + j) * features + c]);
      }
      const double limit =
          static_cast<double>(keys) * unit + size * tolerance_floor(problem.rules.dtype);
      worst.hold(std::abs(sum), limit, {b, kv_head, c});
    }
  });
  return worst.check();
}

Check d_k_sums_to_zero(const AttentionCase& recorded, double unit) {
  const AttentionProblem& problem = recorded.problem;
  const char* name = "dk-sums-to-0";
  if (!recorded.gradient->d_k) return not_checked(name, "no dk");
  if (!problem.sinks.empty()) return not_checked(name, "a sink takes a share");
  if (problem.rules.softcap > 0) return not_checked(name, "softcap");
  const Tensor<double>& d_k = *recorded.gradient->d_k;
  const Index features = problem.head_dim();
  const Index keys = problem.kv_len();
  Worst worst(name);
  for_each_kv_head(problem, [&](Index b, Index kv_head) {
    const double* first = d_k.data() + (b * problem.kv_heads() + kv_head) * keys * features;
    for (Index c = 0; c < features; ++c) {
      double sum = 0;
      double size = 0;
      for (Index j = 0; j < keys; ++j) {
        sum += first[j * features + c];
        size += std::abs(first[j * features + c]);
      }
      const double limit =
          static_cast<double>(keys) * unit + size * tolerance_floor(problem.rules.dtype);
      worst.hold(std::abs(sum), limit, {b, kv_head, c});
    }
  });
  return worst.check();
}

Check d_q_balances_d_k(const AttentionCase& recorded, double q_unit, double k_unit) {
  const AttentionProblem& problem = recorded.problem;
  const char* name = "q-dq-is-k-dk";
  const GradientRecord& gradient = *recorded.gradient;
  if (!gradient.d_q || !gradient.d_k) return not_checked(name, "no dq or no dk");
  const Index group = problem.heads() / problem.kv_heads();
  const Index features = problem.head_dim();
  const Index q_count = group * problem.q_len() * features;
  const Index k_count = problem.kv_len() * features;
  Worst worst(name);
  for_each_kv_head(problem, [&](Index b, Index kv_head) {
    const Index first_q = (b * problem.heads() + kv_head * group) * problem.q_len() * features;
    const Index first_k = (b * problem.kv_heads() + kv_head) * k_count;
    double sum = 0;
    double limit = 0;
    const double floor = tolerance_floor(problem.rules.dtype);
    for (Index n = first_q; n < first_q + q_count; ++n) {
      const double q = problem.q.data()[n];
      const double d_q = gradient.d_q->data()[n];
      if (d_q == 0) continue;
      sum += q * d_q;
      limit += std::abs(q) * q_unit + std::abs(q * d_q) * floor;
    }
    for (Index n = first_k; n < first_k + k_count; ++n) {
      const double k = problem.k.data()[n];
      const double d_k = gradient.d_k->data()[n];
      if (d_k == 0) continue;  // padding may be NaN
      sum -= k * d_k;
      limit += std::abs(k) * k_unit + std::abs(k * d_k) * floor;
    }
    worst.hold(std::abs(sum), limit, {b, kv_head});
  });
  return worst.check();
}

}  // namespace attn
