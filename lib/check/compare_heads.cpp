#include "check/compare_heads.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "check/reference/matrix_rank.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/rng.h"
#include "core/tensor.h"

namespace attn {

namespace {

Tensor<double> draw(Rng& rng, Index rows, Index cols, double deviation) {
  Tensor<double> tensor({rows, cols});
  for (double& value : tensor.values) value = deviation * rng.normal();
  return tensor;
}

// a b^T, for rows of one length.
Tensor<double> product(const Tensor<double>& a, const Tensor<double>& b, int threads) {
  const Index shared = a.dim(1);
  Tensor<double> result({a.dim(0), b.dim(0)});
  parallel_for(a.dim(0), threads, [&](Index i, int) {
    for (Index j = 0; j < b.dim(0); ++j) {
      const double* left = a.data() + i * shared;
      const double* right = b.data() + j * shared;
      double sum = 0;
      for (Index c = 0; c < shared; ++c) sum += left[c] * right[c];
      result.data()[i * b.dim(0) + j] = sum;
    }
  });
  return result;
}

// The columns of one head.
Tensor<double> head_of(const Tensor<double>& all, Index head, Index head_dim) {
  Tensor<double> own({all.dim(0), head_dim});
  for (Index i = 0; i < all.dim(0); ++i) {
    std::copy_n(all.data() + i * all.dim(1) + head * head_dim, head_dim, own.data() + i * head_dim);
  }
  return own;
}

void softmax_rows(Tensor<double>& scores, double scale) {
  const Index keys = scores.dim(1);
  for (Index i = 0; i < scores.dim(0); ++i) {
    double* row = scores.data() + i * keys;
    const double top = *std::max_element(row, row + keys);
    double sum = 0;
    for (Index j = 0; j < keys; ++j) sum += row[j] = std::exp(scale * (row[j] - top));
    for (Index j = 0; j < keys; ++j) row[j] /= sum;
  }
}

}  // namespace

HeadsReport measure_heads(Index heads, Index width, Index tokens, std::uint64_t seed, int threads) {
  require_shape(heads >= 1 && tokens >= 1 && width % heads == 0,
                "compare heads: the heads must divide the width");
  HeadsReport report;
  report.heads = heads;
  report.head_dim = width / heads;
  report.parameters = 4 * width * width;
  report.flops = 2 * (4 * tokens * width * width + 2 * tokens * tokens * width);
  report.exponentials = heads * tokens * tokens;

  // W as (in, out), of a size that keeps features at variance 1.
  Rng rng(seed, RandomPurpose::kExample, 2);
  const double deviation = 1 / std::sqrt(static_cast<double>(width));
  const Tensor<double> x = draw(rng, tokens, width, 1);
  const Tensor<double> wq = draw(rng, width, width, deviation);
  const Tensor<double> wk = draw(rng, width, width, deviation);
  const Tensor<double> wv = draw(rng, width, width, deviation);
  const Tensor<double> wo = draw(rng, width, width, deviation);  // (out, in): columns by head
  const double scale = 1 / std::sqrt(static_cast<double>(report.head_dim));
  Tensor<double> maps({heads, tokens * tokens});
  for (Index head = 0; head < heads; ++head) {
    const Tensor<double> own_q = head_of(wq, head, report.head_dim);
    const Tensor<double> own_k = head_of(wk, head, report.head_dim);
    // x (W_q W_k^T) x^T: what the head can compare of two tokens.
    Tensor<double> scores =
        product(product(x, product(own_k, own_q, threads), threads), x, threads);
    if (head == 0) {  // random projections: one head is as good as another
      report.score_rank = matrix_rank(product(own_q, own_k, threads).matrix());
      report.map_rank = matrix_rank(scores.matrix());
      const Tensor<double> own_v = head_of(wv, head, report.head_dim);
      const Tensor<double> own_o = head_of(wo, head, report.head_dim);
      report.value_rank = matrix_rank(product(own_v, own_o, threads).matrix());
    }
    softmax_rows(scores, scale);
    std::copy(scores.values.begin(), scores.values.end(), maps.data() + head * tokens * tokens);
  }
  report.mixtures = matrix_rank(maps.matrix());
  return report;
}

}  // namespace attn
