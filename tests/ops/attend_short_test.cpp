#include "ops/attend_short.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/ops_test_support.h"

namespace attn {
namespace {

template <class T>
struct Results {
  Tensor<T> out, d_q, d_k, d_v;
  std::vector<T> lse;
};

// Each sequence by the general kernels.
template <class T>
Results<T> one_by_one(const ShortAttention<T>& call, const Tensor<T>& q, const Tensor<T>& k,
                      const Tensor<T>& v, const Tensor<T>& d_out) {
  Results<T> want{
      Tensor<T>(v.shape), Tensor<T>(q.shape), Tensor<T>(q.shape), Tensor<T>(v.shape),
      std::vector<T>(static_cast<std::size_t>(call.batch * call.shape.heads * call.seq_len))};
  Arena arena;
  AttendMask<T> mask;
  mask.causal = call.causal;
  mask.scale = call.scale;
  for (Index i = 0; i < call.batch; ++i) {
    const auto part = [&](auto& x) { return x.matrix().row_block(i * call.seq_len, call.seq_len); };
    const KvRun<T> run{part(k), part(v)};
    T* const lse = want.lse.data() + i * call.shape.heads * call.seq_len;
    attend<T>(call.shape, part(q), std::span<const KvRun<T>>(&run, 1), mask, part(want.out),
              {.lse = lse}, arena);
    attend_backward<T>(call.shape, part(q), part(k), part(v), mask, part(want.out), lse,
                       part(d_out), part(want.d_q), part(want.d_k), part(want.d_v), arena);
  }
  return want;
}

template <class T>
void expect_near(const std::vector<T>& got, const std::vector<T>& want, const char* what) {
  // Sums of at most 32 products of numbers up to 8, in another order.
  const double limit = 256 * static_cast<double>(std::numeric_limits<T>::epsilon());
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(got[i]), static_cast<double>(want[i]), limit)
        << what << " at " << i;
  }
}

template <class T>
void expect_as_one_by_one(const ShortAttention<T>& call) {
  ASSERT_TRUE(call.fits());
  const Index rows = call.batch * call.seq_len;
  const auto q = random_tensor<T>({rows, call.shape.heads * call.shape.head_dim}, 1, 2.0);
  const auto k = random_tensor<T>(q.shape, 2, 2.0);
  const auto v = random_tensor<T>({rows, call.shape.heads * call.shape.value_dim}, 3);
  const auto d_out = random_tensor<T>(v.shape, 4);
  const Results<T> want = one_by_one(call, q, k, v, d_out);
  Results<T> got = want;
  for (Tensor<T>* x : {&got.out, &got.d_q, &got.d_k, &got.d_v}) {
    std::fill(x->values.begin(), x->values.end(), T{77});  // set, not added to
  }
  Arena arena;
  attend_short<T>(call, q.matrix(), k.matrix(), v.matrix(), got.out.matrix(), got.lse.data(),
                  arena);
  attend_short_backward<T>(call, q.matrix(), k.matrix(), v.matrix(), got.lse.data(), d_out.matrix(),
                           got.d_q.matrix(), got.d_k.matrix(), got.d_v.matrix(), arena);
  expect_near(got.out.values, want.out.values, "out");
  expect_near(got.lse, want.lse, "lse");
  expect_near(got.d_q.values, want.d_q.values, "d_q");
  expect_near(got.d_k.values, want.d_k.values, "d_k");
  expect_near(got.d_v.values, want.d_v.values, "d_v");
}

// Groups of lanes that are full and that are not, that begin and end within a sequence's heads.
TEST(AttendShort, EqualsTheGeneralKernels) {
  for (const Index batch : {1, 2, 9}) {
    for (const Index heads : {1, 3, 4}) {
      for (const Index seq_len : {1, 4, 11, 16}) {
        for (const bool causal : {false, true}) {
          const HeadShape shape{heads, heads, 8, 12};
          expect_as_one_by_one<float>({shape, batch, seq_len, causal, 0});
          expect_as_one_by_one<double>({shape, batch, seq_len, causal, 0.5});
        }
      }
    }
  }
}

// Several query rows are taken together: blocks that are full and that are not.
TEST(AttendShort, EqualsTheGeneralKernelsOnLongerSequences) {
  for (const Index seq_len : {17, 38, 64}) {
    for (const bool causal : {false, true}) {
      const HeadShape shape{4, 4, 16, 12};
      expect_as_one_by_one<float>({shape, 5, seq_len, causal, 0});
      expect_as_one_by_one<double>({shape, 5, seq_len, causal, 0.5});
    }
  }
}

// A later key has no influence, not even a NaN's; nor has another sequence.
TEST(AttendShort, WhatIsAheadDoesNotShow) {
  const ShortAttention<float> call{{2, 2, 4, 4}, 3, 5, true, 0};
  auto q = random_tensor<float>({15, 8}, 1), k = random_tensor<float>({15, 8}, 2),
       v = random_tensor<float>({15, 8}, 3);
  Tensor<float> clean({15, 8}), spoilt({15, 8});
  Arena arena;
  float* const no_lse = nullptr;
  attend_short<float>(call, q.matrix(), k.matrix(), v.matrix(), clean.matrix(), no_lse, arena);
  for (Index j = 0; j < 8; ++j) {
    k.matrix()(9, j) = v.matrix()(9, j) = std::nanf("");  // the second sequence's last
  }
  attend_short<float>(call, q.matrix(), k.matrix(), v.matrix(), spoilt.matrix(), no_lse, arena);
  for (Index i = 0; i < 15; ++i) {
    for (Index j = 0; j < 8; ++j) {
      if (i == 9) {
        EXPECT_TRUE(std::isnan(spoilt.matrix()(i, j)));
      } else {
        EXPECT_EQ(spoilt.matrix()(i, j), clean.matrix()(i, j)) << i;
      }
    }
  }
}

TEST(AttendShort, SaysWhatItDoesNotTake) {
  const auto fits = [](const HeadShape& shape, Index seq_len) {
    return ShortAttention<float>{shape, 1, seq_len, true, 0}.fits();
  };
  EXPECT_TRUE(fits({4, 4, 16, 16}, 12));
  EXPECT_FALSE(fits({4, 2, 16, 16}, 12)) << "shared heads";
  EXPECT_FALSE(fits({4, 4, 6, 16}, 12)) << "no multiple of 4";
  EXPECT_FALSE(fits({4, 4, 16, 16}, 17)) << "long, and few heads in all";
  EXPECT_TRUE(fits({16, 16, 16, 16}, 64));
  EXPECT_FALSE(fits({16, 16, 16, 16}, 65)) << "long";
  EXPECT_FALSE(fits({16, 16, 32, 32}, 24)) << "long and wide";
  EXPECT_FALSE(fits({4, 4, 64, 64}, 12)) << "wide";
}

}  // namespace
}  // namespace attn
