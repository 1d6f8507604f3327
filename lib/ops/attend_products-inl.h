// The products of attention's tiles, for attend_kernels.cpp. Included once a target.
//
// One kernel serves them all: a block of rows by a few vectors of columns is summed in registers
// while k runs, elements of a are broadcast and rows of b are loaded as they lie. So nothing is
// packed but the keys (and values, backward), which are turned once for all rows.
#if defined(ATTNTOOLS_OPS_ATTEND_PRODUCTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNTOOLS_OPS_ATTEND_PRODUCTS_INL_H
#undef ATTNTOOLS_OPS_ATTEND_PRODUCTS_INL_H
#else
#define ATTNTOOLS_OPS_ATTEND_PRODUCTS_INL_H
#endif

#include "ops/attend_kernels.h"
#include "ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

// Rows and vectors of a register block: 24 sums of 32 registers with AVX-512, 12 of 16 before.
inline constexpr int kRows = 6;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
inline constexpr int kVectors = 4;
#else
inline constexpr int kVectors = 2;
#endif

// Squares of 4 x 4 (double 2 x 2) through registers; what is left over by single elements.
template <class T>
void turn_rows(Matrix<const T> x, Matrix<T> turned) {
  Index j = 0;
#if HWY_TARGET != HWY_SCALAR
  const Index stride = turned.stride();
  constexpr Index kSide = 16 / static_cast<Index>(sizeof(T));
  const hn::FixedTag<T, 16 / sizeof(T)> d;
  for (; j + kSide <= x.rows(); j += kSide) {
    Index c = 0;
    for (; c + kSide <= x.cols(); c += kSide) {
      T* to = turned.data() + c * stride + j;
      const auto r0 = hn::LoadU(d, x.row(j) + c);
      const auto r1 = hn::LoadU(d, x.row(j + 1) + c);
      if constexpr (kSide == 2) {
        hn::StoreU(hn::InterleaveLower(d, r0, r1), d, to);
        hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, to + stride);
      } else {
        const auto r2 = hn::LoadU(d, x.row(j + 2) + c);
        const auto r3 = hn::LoadU(d, x.row(j + 3) + c);
        const auto low01 = hn::InterleaveLower(d, r0, r1);
        const auto low23 = hn::InterleaveLower(d, r2, r3);
        const auto high01 = hn::InterleaveUpper(d, r0, r1);
        const auto high23 = hn::InterleaveUpper(d, r2, r3);
        hn::StoreU(hn::ConcatLowerLower(d, low23, low01), d, to);
        hn::StoreU(hn::ConcatUpperUpper(d, low23, low01), d, to + stride);
        hn::StoreU(hn::ConcatLowerLower(d, high23, high01), d, to + 2 * stride);
        hn::StoreU(hn::ConcatUpperUpper(d, high23, high01), d, to + 3 * stride);
      }
    }
    for (; c < x.cols(); ++c) {
      for (Index i = j; i < j + kSide; ++i) turned(c, i) = x(i, c);
    }
  }
#endif
  for (; j < x.rows(); ++j) {
    for (Index c = 0; c < x.cols(); ++c) turned(c, j) = x(j, c);
  }
  for (Index c = 0; c < x.cols(); ++c) {
    std::fill(turned.row(c) + x.rows(), turned.row(c) + turned.cols(), T{0});
  }
}

// A block of kRowCount rows by kVectorCount whole vectors, or (kWhole false) the first `rest`
// lanes of one.
template <int kRowCount, int kVectorCount, bool kWhole, class T>
HWY_INLINE void multiply_block(const T* a, Index row_step, Index k_step, const T* b, Index b_stride,
                               KeyRange k, bool add, T* c, Index c_stride, Index rest) {
  const Tag<T> d;
  const Index lanes = kWhole ? lanes_of<T>() : rest;
  hn::Vec<Tag<T>> sums[static_cast<size_t>(kRowCount)][static_cast<size_t>(kVectorCount)];
  for (int r = 0; r < kRowCount; ++r) {
    for (int v = 0; v < kVectorCount; ++v) {
      sums[r][v] = add ? load<kWhole>(c + r * c_stride + v * lanes, lanes) : hn::Zero(d);
    }
  }
  for (Index at = k.begin; at < k.end; ++at) {
    const T* from = b + at * b_stride;
    hn::Vec<Tag<T>> row[static_cast<size_t>(kVectorCount)];
    for (int v = 0; v < kVectorCount; ++v) row[v] = load<kWhole>(from + v * lanes, lanes);
    const T* element = a + at * k_step;
    for (int r = 0; r < kRowCount; ++r) {
      const auto by = hn::Set(d, element[r * row_step]);
      for (int v = 0; v < kVectorCount; ++v) sums[r][v] = hn::MulAdd(by, row[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRowCount; ++r) {
    for (int v = 0; v < kVectorCount; ++v) {
      store<kWhole>(sums[r][v], c + r * c_stride + v * lanes, lanes);
    }
  }
}

// What a group of rows wants together.
HWY_INLINE KeyRange united(const KeyRange* ranges, Index rows) {
  KeyRange all = ranges[0];
  for (Index r = 1; r < rows; ++r) {
    if (ranges[r].empty()) continue;
    if (all.empty()) all = ranges[r];
    all.begin = std::min(all.begin, ranges[r].begin);
    all.end = std::max(all.end, ranges[r].end);
  }
  return all;
}

template <int kRowCount, int kVectorCount, bool kWhole, class T>
HWY_INLINE void multiply_rows(const Walk<T>& a, Matrix<const T> b, const ProductRanges& ranges,
                              bool add, Matrix<T> c, Index row, Index column, Index rest) {
  const Index width = kWhole ? kVectorCount * lanes_of<T>() : rest;
  if (ranges.columns != nullptr) {
    const KeyRange wanted = united(ranges.columns + row, kRowCount);
    if (wanted.begin >= column + width || wanted.end <= column) return;
  }
  const KeyRange k =
      ranges.k == nullptr ? KeyRange{0, b.rows()} : united(ranges.k + row, kRowCount);
  multiply_block<kRowCount, kVectorCount, kWhole>(a.data + row * a.row_step, a.row_step, a.k_step,
                                                  b.data() + column, b.stride(), k, add,
                                                  c.row(row) + column, c.stride(), rest);
}

// All rows by the same columns, so that these columns of b stay in the first cache.
template <int kVectorCount, bool kWhole, class T>
HWY_INLINE void multiply_columns(const Walk<T>& a, Matrix<const T> b, const ProductRanges& ranges,
                                 bool add, Matrix<T> c, Index column, Index rest) {
  Index row = 0;
  for (; row + kRows <= c.rows(); row += kRows) {
    multiply_rows<kRows, kVectorCount, kWhole>(a, b, ranges, add, c, row, column, rest);
  }
  for (; row + 2 <= c.rows(); row += 2) {
    multiply_rows<2, kVectorCount, kWhole>(a, b, ranges, add, c, row, column, rest);
  }
  if (row < c.rows()) {
    multiply_rows<1, kVectorCount, kWhole>(a, b, ranges, add, c, row, column, rest);
  }
}

template <class T>
void multiply_tile(const Walk<T>& a, Matrix<const T> b, const ProductRanges& ranges, bool add,
                   Matrix<T> c) {
  const Index lanes = lanes_of<T>();
  const Index width = c.cols();
  Index column = 0;
  for (; column + kVectors * lanes <= width; column += kVectors * lanes) {
    multiply_columns<kVectors, true>(a, b, ranges, add, c, column, 0);
  }
  for (; column + lanes <= width; column += lanes) {
    multiply_columns<1, true>(a, b, ranges, add, c, column, 0);
  }
  if (column < width) multiply_columns<1, false>(a, b, ranges, add, c, column, width - column);
}

template <class T>
void mix_seen_rows(const Walk<T>& weights, Matrix<const T> x, Matrix<T> out) {
  for (Index r = 0; r < out.rows(); ++r) {
    for (Index k = 0; k < x.rows(); ++k) {
      const T weight = weights.data[r * weights.row_step + k * weights.k_step];
      if (weight == T{0}) continue;
      const auto by = hn::Set(Tag<T>(), weight);
      transform<T>(
          x.cols(), out.row(r), [=](auto v, auto sum) HWY_ATTR { return hn::MulAdd(by, v, sum); },
          x.row(k), out.row(r));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#endif
