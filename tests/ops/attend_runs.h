#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "ops/attend_cases.h"

namespace attn {

/// The largest gap, over numbers that may be minus infinity in both.
template <class T>
void expect_close(const std::vector<T>& got, const std::vector<double>& want, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double value = static_cast<double>(got[i]);
    if (std::isinf(want[i])) {
      ASSERT_EQ(value, want[i]) << what << " at " << i;
    } else {
      ASSERT_NEAR(value, want[i], tolerance) << what << " at " << i;
    }
  }
}

template <class T>
struct Attended {
  std::vector<T> out, lse, weights, scores;
};

/// attend on a case's inputs.
template <class T>
Attended<T> run_attend(const AttendCase& one, const AttendInputs& inputs, bool with_maps = true) {
  constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  const AttendTables<T> tables(one, inputs);
  const Tensor<T> q = converted<T>(inputs.q), k = converted<T>(inputs.k),
                  v = converted<T>(inputs.v);
  const std::vector<KvRun<T>> runs = make_runs(one, k, v);
  Tensor<T> out({one.q_len, one.shape.heads * one.shape.value_dim});
  for (T& value : out.values) value = kNan;  // must be written, not added to
  const auto rows = static_cast<std::size_t>(one.shape.heads * one.q_len);
  Attended<T> result;
  result.lse.assign(rows, kNan);
  AttendProbe<T> probe{.lse = result.lse.data()};
  if (with_maps) {
    result.weights.assign(rows * static_cast<std::size_t>(one.kv_len), kNan);
    result.scores = result.weights;
    probe.weights = result.weights.data();
    probe.scores = result.scores.data();
  }
  Arena arena;
  attend<T>(one.shape, q.matrix(), std::span<const KvRun<T>>(runs), tables.mask, out.matrix(),
            probe, arena);
  result.out = out.values;
  return result;
}

/// Scores are sums of head_dim products below spread^2, scaled; exp turns their absolute error
/// into a relative one of the weights.
template <class T>
double tolerance(const AttendCase& one) {
  const double products =
      one.spread * one.spread * std::sqrt(static_cast<double>(one.shape.head_dim));
  return (8 + 4 * products) * static_cast<double>(std::numeric_limits<T>::epsilon()) *
         (one.softcap != 0 || one.alibi || one.bias ? 4 : 1);
}

}  // namespace attn
