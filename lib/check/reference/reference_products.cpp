#include "check/reference/reference_products.h"

#include <algorithm>
#include <cstring>

// One build for each kind of vectors, chosen when the program starts. Sanitizers start before the
// choice can be made.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(ATTNTOOLS_ASAN) && \
    !defined(ATTNTOOLS_TSAN)
#define ATTN_FOR_EACH_VECTOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define ATTN_FOR_EACH_VECTOR
#endif

namespace attn {

namespace {

// Eight sums side by side: one register, two or four, as the processor has them.
typedef double Lanes __attribute__((vector_size(kLanes * sizeof(double))));

constexpr Index kRows = 4;     // rows whose sums stay in registers
constexpr Index kChunk = 256;  // values of a panel that are mixed before the next panel's

}  // namespace

Panels::Panels(Index rows, Index cols) : rows_(rows), cols_(cols) {
  values_.resize(static_cast<std::size_t>(count() * rows * kLanes));
}

Panels Panels::of_columns(Matrix<const double> matrix) {
  Panels panels(matrix.rows(), matrix.cols());
  for (Index p = 0; p < panels.count(); ++p) {
    const Index width = std::min(kLanes, matrix.cols() - p * kLanes);
    double* to = panels.values_.data() + p * matrix.rows() * kLanes;
    for (Index i = 0; i < matrix.rows(); ++i) {
      std::copy_n(matrix.row(i) + p * kLanes, width, to + i * kLanes);
    }
  }
  return panels;
}

Panels Panels::of_rows(Matrix<const double> matrix) {
  Panels panels(matrix.cols(), matrix.rows());
  for (Index p = 0; p < panels.count(); ++p) {
    const Index width = std::min(kLanes, matrix.rows() - p * kLanes);
    double* to = panels.values_.data() + p * matrix.cols() * kLanes;
    for (Index lane = 0; lane < width; ++lane) {
      const double* row = matrix.row(p * kLanes + lane);
      for (Index c = 0; c < matrix.cols(); ++c) to[c * kLanes + lane] = row[c];
    }
  }
  return panels;
}

ATTN_FOR_EACH_VECTOR
void multiply_keys(Matrix<const double> q, const Panels& keys, Index first, Index end,
                   Matrix<double> scores) {
  const Index features = q.cols();
  for (Index p = first; p < end; ++p) {
    const double* panel = keys.panel(p);
    for (Index r = 0; r < q.rows(); r += kRows) {
      // The last rows are computed twice rather than by other code.
      const double* row[kRows];
      for (Index n = 0; n < kRows; ++n) row[n] = q.row(std::min(r + n, q.rows() - 1));
      Lanes sums[kRows] = {};
      for (Index c = 0; c < features; ++c) {
        Lanes key;
        std::memcpy(&key, panel + c * kLanes, sizeof key);
        for (Index n = 0; n < kRows; ++n) sums[n] += row[n][c] * key;
      }
      for (Index n = 0; n < std::min(kRows, q.rows() - r); ++n) {
        std::memcpy(scores.row(r + n) + (p - first) * kLanes, &sums[n], sizeof sums[n]);
      }
    }
  }
}

ATTN_FOR_EACH_VECTOR
void mix_values(Matrix<const double> weights, const Panels& values, Index first,
                Matrix<double> out) {
  for (Index begin = 0; begin < weights.cols(); begin += kChunk) {
    const Index end = std::min(begin + kChunk, weights.cols());
    for (Index p = 0; p < values.count(); ++p) {
      const double* panel = values.panel(p) + first * kLanes;
      for (Index r = 0; r < weights.rows(); r += kRows) {
        const double* row[kRows];
        Lanes sums[kRows];
        for (Index n = 0; n < kRows; ++n) {
          const Index at = std::min(r + n, weights.rows() - 1);
          row[n] = weights.row(at);
          std::memcpy(&sums[n], out.row(at) + p * kLanes, sizeof sums[n]);
        }
        for (Index t = begin; t < end; ++t) {
          Lanes value;
          std::memcpy(&value, panel + t * kLanes, sizeof value);
          for (Index n = 0; n < kRows; ++n) sums[n] += row[n][t] * value;
        }
        for (Index n = 0; n < std::min(kRows, weights.rows() - r); ++n) {
          std::memcpy(out.row(r + n) + p * kLanes, &sums[n], sizeof sums[n]);
        }
      }
    }
  }
}

}  // namespace attn
