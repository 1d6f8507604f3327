// What vectors leave over: extents of every rest, in matrices whose rows lie apart. NaN between the
// rows would show in what is computed had it been read, and would be gone had it been written over.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "ops/attend.h"
#include "ops/gemm.h"
#include "ops/ops_test_support.h"

namespace attn {
namespace {

constexpr Index kMostExtent = 67;

class Draw {
 public:
  Index extent() { return 1 + rng_.below(kMostExtent); }
  Index below(Index count) { return rng_.below(count); }
  bool coin() { return rng_.below(2) == 1; }

 private:
  Rng rng_{1, RandomPurpose::kExample, 99};
};

// A matrix with NaN before, between and behind its rows.
template <class T>
class Apart {
 public:
  Apart(Index rows, Index cols, Index gap, std::uint32_t stream)
      : gap_(gap),
        memory_(static_cast<std::size_t>(gap + rows * (cols + gap)),
                std::numeric_limits<T>::quiet_NaN()),
        view_(memory_.data() + gap, rows, cols, cols + gap) {
    const Tensor<T> numbers = random_tensor<T>({rows, cols}, stream);
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < cols; ++j) view_(i, j) = numbers.matrix()(i, j);
    }
  }
  Matrix<T> view() { return view_; }
  // The same numbers side by side.
  Tensor<T> together() const {
    Tensor<T> made({view_.rows(), view_.cols()});
    for (Index i = 0; i < view_.rows(); ++i) {
      for (Index j = 0; j < view_.cols(); ++j) made.matrix()(i, j) = view_(i, j);
    }
    return made;
  }
  bool gaps_are_whole() const {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      const Index at = static_cast<Index>(i) % view_.stride();
      if (at < gap_ && !std::isnan(memory_[i])) return false;
    }
    return true;
  }

 private:
  Index gap_;
  std::vector<T> memory_;
  Matrix<T> view_;
};

// Two sums of k products, in whatever order and fused or not, are this near: numbers are below 1.
template <class T>
double product_limit(Index k) {
  return static_cast<double>(k + 2) * static_cast<double>(std::numeric_limits<T>::epsilon());
}

template <class T>
void multiply_apart(Draw& draw) {
  const Index m = draw.extent(), n = draw.extent(), k = draw.extent();
  const bool flip_a = draw.coin(), flip_b = draw.coin(), add = draw.coin();
  const std::string name = std::to_string(m) + " x " + std::to_string(n) + " x " +
                           std::to_string(k) + (flip_a ? " a" : "") + (flip_b ? " b" : "");
  Apart<T> a(flip_a ? k : m, flip_a ? m : k, 1 + draw.below(40), 1);
  Apart<T> b(flip_b ? n : k, flip_b ? k : n, 1 + draw.below(40), 2);
  Apart<T> c(m, n, 1 + draw.below(40), 3);
  const Tensor<T> before = c.together();
  gemm<T>(flip_a ? Transpose::kYes : Transpose::kNo, flip_b ? Transpose::kYes : Transpose::kNo, 1,
          a.view(), b.view(), add ? 1 : 0, c.view());
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < n; ++j) {
      double want = add ? static_cast<double>(before.matrix()(i, j)) : 0;
      for (Index l = 0; l < k; ++l) {
        const T left = flip_a ? a.view()(l, i) : a.view()(i, l);
        const T right = flip_b ? b.view()(j, l) : b.view()(l, j);
        want += static_cast<double>(left) * static_cast<double>(right);
      }
      ASSERT_NEAR(static_cast<double>(c.view()(i, j)), want, product_limit<T>(k))
          << name << " at " << i << ", " << j;
    }
  }
  EXPECT_TRUE(c.gaps_are_whole()) << name;
}

TEST(VectorTails, ProductsOfMatricesWhoseRowsLieApart) {
  Draw draw;
  for (int i = 0; i < 150; ++i) {
    multiply_apart<float>(draw);
    if (i % 3 == 0) multiply_apart<double>(draw);
  }
}

// Attention has the same bits wherever rows lie; what they are is held elsewhere.
template <class T>
void attend_apart(Draw& draw) {
  HeadShape shape{1, 1 + draw.below(2), draw.extent(), draw.extent()};
  shape.heads = shape.kv_heads * (1 + draw.below(2));
  const Index q_len = draw.extent(), kv_len = draw.extent() + draw.below(100);
  Apart<T> q(q_len, shape.heads * shape.head_dim, 1 + draw.below(40), 1);
  Apart<T> k(kv_len, shape.kv_heads * shape.head_dim, 1 + draw.below(40), 2);
  Apart<T> v(kv_len, shape.kv_heads * shape.value_dim, 1 + draw.below(40), 3);
  Apart<T> out(q_len, shape.heads * shape.value_dim, 1 + draw.below(40), 4);
  AttendMask<T> mask;
  mask.causal = draw.coin();
  mask.offset = draw.below(kv_len);
  if (draw.coin()) mask.window_left = draw.extent();
  if (draw.below(4) == 0) mask.softcap = 5;  // rows of scores, not queries, as vectors
  const auto run = [&](Matrix<const T> queries, Matrix<const T> keys, Matrix<const T> values,
                       Matrix<T> to) {
    const Index cut = keys.rows() / 2;
    const KvRun<T> runs[] = {
        {keys.row_block(0, cut), values.row_block(0, cut)},
        {keys.row_block(cut, keys.rows() - cut), values.row_block(cut, keys.rows() - cut)}};
    Arena arena;
    attend<T>(shape, queries, std::span<const KvRun<T>>(runs), mask, to, {}, arena);
  };
  run(q.view(), k.view(), v.view(), out.view());
  Tensor<T> want({q_len, shape.heads * shape.value_dim});
  run(q.together().matrix(), k.together().matrix(), v.together().matrix(), want.matrix());
  EXPECT_EQ(out.together().values, want.values)
      << q_len << " rows, " << kv_len << " keys, heads of " << shape.head_dim << " and "
      << shape.value_dim;
  EXPECT_TRUE(out.gaps_are_whole());
}

TEST(VectorTails, AttentionOfRowsThatLieApart) {
  Draw draw;
  for (int i = 0; i < 150; ++i) {
    attend_apart<float>(draw);
    if (i % 3 == 0) attend_apart<double>(draw);
  }
}

}  // namespace
}  // namespace attn
