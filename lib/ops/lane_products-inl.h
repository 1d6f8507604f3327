// Products of matrices whose numbers are vectors: a lane each for as many pairs of matrices as a
// vector has lanes. Included once a target.
//
// Nothing is broadcast or turned, so even products of a few rows and columns keep the units busy.
// Each element is one sum in the order of its terms, whatever rows it was computed with.
#if defined(ATTNTOOLS_OPS_LANE_PRODUCTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNTOOLS_OPS_LANE_PRODUCTS_INL_H
#undef ATTNTOOLS_OPS_LANE_PRODUCTS_INL_H
#else
#define ATTNTOOLS_OPS_LANE_PRODUCTS_INL_H
#endif

#include <algorithm>
#include <type_traits>

#include "ops/products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

// Rows of a that are taken together: 16 sums of 32 registers with AVX-512, 8 of 16 before.
inline constexpr int kRowsOfLanes = kVectors == 4 ? 4 : 2;

// A matrix of vectors: (r, t) at data[r * row_step + t * step].
template <class T>
struct LaneWalk {
  T* data;
  Index row_step;
  Index step;
};

// c(r, x) = the sum over t in terms of a(r, t) * b(t, x), all of them vectors, of kCount rows and
// four outputs; begins with what c holds, or with 0.
template <int kCount, class T>
HWY_INLINE void lane_block(const LaneWalk<const T>& a, const LaneWalk<const T>& b, KeyRange terms,
                           bool add, const LaneWalk<T>& c) {
  const Tag<T> d;
  Sums<kCount, 4, T> sums;
  for (int r = 0; r < kCount; ++r) {
    for (int i = 0; i < 4; ++i) sums.of[r][i] = hn::Zero(d);
  }
  if (add) {
    for (int r = 0; r < kCount; ++r) {
      for (int i = 0; i < 4; ++i) {
        sums.of[r][i] = hn::Load(d, c.data + r * c.row_step + i * c.step);
      }
    }
  }
  for (Index t = terms.begin; t < terms.end; ++t) {
    const T* at = b.data + t * b.row_step;
    hn::Vec<Tag<T>> right[4];
    for (int i = 0; i < 4; ++i) right[i] = hn::Load(d, at + i * b.step);
    for (int r = 0; r < kCount; ++r) {
      const auto by = hn::Load(d, a.data + r * a.row_step + t * a.step);
      for (int i = 0; i < 4; ++i) sums.of[r][i] = hn::MulAdd(by, right[i], sums.of[r][i]);
    }
  }
  for (int r = 0; r < kCount; ++r) {
    for (int i = 0; i < 4; ++i) {
      hn::Store(sums.of[r][i], d, c.data + r * c.row_step + i * c.step);
    }
  }
}

// Of kCount rows and outputs 0 .. count - 1, and up to the next multiple of 4. Row r has its own
// terms[r]: a sum runs in the order of t over those alone, whatever its neighbours' are.
template <int kCount, class T>
HWY_INLINE void lane_products(const LaneWalk<const T>& a, const LaneWalk<const T>& b, Index count,
                              const KeyRange* terms, bool add, const LaneWalk<T>& c) {
  KeyRange common = terms[0];
  KeyRange all = terms[0];
  for (int r = 1; r < kCount; ++r) {
    common = {std::max(common.begin, terms[r].begin), std::min(common.end, terms[r].end)};
    all = {std::min(all.begin, terms[r].begin), std::max(all.end, terms[r].end)};
  }
  for (Index x = 0; x < count; x += 4) {
    const LaneWalk<const T> from{b.data + x * b.step, b.row_step, b.step};
    const LaneWalk<T> to{c.data + x * c.step, c.row_step, c.step};
    const auto one_row = [&](int r, KeyRange own, bool more) HWY_ATTR {
      lane_block<1, T>({a.data + r * a.row_step, a.row_step, a.step}, from, own, more,
                       {to.data + r * to.row_step, to.row_step, to.step});
    };
    const bool before = all.begin < common.begin;
    for (int r = 0; before && r < kCount; ++r) {
      one_row(r, {terms[r].begin, common.begin}, add);
    }
    lane_block<kCount, T>(a, from, common, add || before, to);
    for (int r = 0; r < kCount; ++r) {
      if (common.end < terms[r].end) one_row(r, {common.end, terms[r].end}, true);
    }
  }
}

// All rows, some together: row i has the terms terms_of(i) and outputs 0 .. count_of(i) - 1,
// neither of which falls from row to row.
template <class T, class Terms, class Outputs>
HWY_INLINE void lane_matrix(const LaneWalk<const T>& a, const LaneWalk<const T>& b, Index rows,
                            const Terms& terms_of, const Outputs& count_of, bool add,
                            const LaneWalk<T>& c) {
  Index row = 0;
  const auto take = [&](auto together) HWY_ATTR {
    constexpr int kCount = decltype(together)::value;
    for (; row + kCount <= rows; row += kCount) {
      KeyRange terms[static_cast<size_t>(kCount)];
      for (int r = 0; r < kCount; ++r) terms[r] = terms_of(row + r);
      lane_products<kCount, T>({a.data + row * a.row_step, a.row_step, a.step}, b,
                               count_of(row + kCount - 1), terms, add,
                               {c.data + row * c.row_step, c.row_step, c.step});
    }
  };
  take(std::integral_constant<int, kRowsOfLanes>());
  take(std::integral_constant<int, 1>());
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#endif
