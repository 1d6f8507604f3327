// Products of matrices that the caches hold: of attention's tiles (attend_kernels.cpp) and of
// gemm's panels (gemm_panels.cpp). Included once a target.
//
// One kernel serves them all: a block of rows by a few vectors of columns is summed in registers
// while k runs, elements of a are broadcast and rows of b are loaded as they lie. So nothing has
// to be packed but a transposed b, which is turned once for all rows. Each element is one sum in
// the order of k, whatever rows and columns it was computed with: its bits are its own.
#if defined(ATTNTOOLS_OPS_PRODUCTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNTOOLS_OPS_PRODUCTS_INL_H
#undef ATTNTOOLS_OPS_PRODUCTS_INL_H
#else
#define ATTNTOOLS_OPS_PRODUCTS_INL_H
#endif

#include "ops/attend_kernels.h"
#include "ops/turn-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

// Rows and vectors of a register block: 24 sums of 32 registers with AVX-512, 12 of 16 before. The
// last column of vectors takes more rows, for eight sums or more keep the units busy.
inline constexpr int kRows = 6;
inline constexpr int kRowsOfOneVector = 12;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
inline constexpr int kVectors = 4;
#else
inline constexpr int kVectors = 2;
#endif

// The sums of a register block, and one more product for each: element r of a column of a times a
// row of b.
template <int kRowCount, int kVectorCount, class T>
struct Sums {
  HWY_INLINE Sums() = default;
  hn::Vec<Tag<T>> of[static_cast<size_t>(kRowCount)][static_cast<size_t>(kVectorCount)];

  HWY_INLINE void clear() {
    for (auto& row : of) {
      for (auto& sum : row) sum = hn::Zero(Tag<T>());
    }
  }
};

template <bool kWhole, int kRowCount, int kVectorCount, class T>
HWY_INLINE void add_products(const T* a, Index row_step, const T* b, Index lanes,
                             Sums<kRowCount, kVectorCount, T>& sums) {
  hn::Vec<Tag<T>> row[static_cast<size_t>(kVectorCount)];
  for (int v = 0; v < kVectorCount; ++v) row[v] = load<kWhole>(b + v * lanes, lanes);
  for (int r = 0; r < kRowCount; ++r) {
    const auto by = hn::Set(Tag<T>(), a[r * row_step]);
    for (int v = 0; v < kVectorCount; ++v) sums.of[r][v] = hn::MulAdd(by, row[v], sums.of[r][v]);
  }
}

// Where rows of a are: three to a pointer, which addresses reach with one step in a register. Left
// alone, the compiler takes a pointer a row, which are more than there are registers.
template <int kRowCount, class T>
struct RowPointers {
  static constexpr int kOfOne = 3;
  static constexpr int kPointers = (kRowCount + kOfOne - 1) / kOfOne;
  const T* first[static_cast<size_t>(kPointers)];

  HWY_INLINE RowPointers(const T* a, Index row_step) {
    for (int i = 0; i < kPointers; ++i) {
      first[i] = a + i * kOfOne * row_step;
#if HWY_COMPILER_GCC || HWY_COMPILER_CLANG
      asm("" : "+r"(first[i]));  // from here on of unknown origin
#endif
    }
  }
  HWY_INLINE const T* of(int row, Index row_step) const {
    return first[row / kOfOne] + row % kOfOne * row_step;
  }
  HWY_INLINE void advance(Index by) {
    for (auto& pointer : first) pointer += by;
  }
};

// All products of rows of a, whose elements lie side by side, with one vector of b's columns.
template <bool kWhole, int kRowCount, class T>
HWY_INLINE void add_vector_products(const T* a, Index row_step, const T* b, Index b_stride,
                                    Index count, Index lanes, Sums<kRowCount, 1, T>& sums) {
  RowPointers<kRowCount, T> rows(a, row_step);
  const auto add = [&](Index ahead) HWY_ATTR {
    const auto column = load<kWhole>(b, lanes);
    for (int r = 0; r < kRowCount; ++r) {
      const auto by = hn::Set(Tag<T>(), rows.of(r, row_step)[ahead]);
      sums.of[r][0] = hn::MulAdd(by, column, sums.of[r][0]);
    }
    b += b_stride;
  };
  for (; count >= 4; count -= 4) {
    add(0);
    add(1);
    add(2);
    add(3);
    rows.advance(4);
  }
  for (; count > 0; --count) {
    add(0);
    rows.advance(1);
  }
}

// A block of kRowCount rows by kVectorCount whole vectors, or (kWhole false) the first `rest`
// lanes of one. start: null, or what the sums begin with, so
// that a sum may be taken in parts.
template <int kRowCount, int kVectorCount, bool kWhole, class T>
HWY_INLINE void multiply_block(const T* a, Index row_step, Index k_step, const T* b, Index b_stride,
                               KeyRange k, const T* start, Index start_stride, T* c, Index c_stride,
                               Index rest) {
  const Index lanes = kWhole ? lanes_of<T>() : rest;
  Sums<kRowCount, kVectorCount, T> sums;
  sums.clear();
  if (start != nullptr) {
    for (int r = 0; r < kRowCount; ++r) {
      for (int v = 0; v < kVectorCount; ++v) {
        sums.of[r][v] = load<kWhole>(start + r * start_stride + v * lanes, lanes);
      }
    }
  }
  a += k.begin * k_step;
  b += k.begin * b_stride;
  Index left = k.end - k.begin;
  if constexpr (kVectorCount == 1 && kRowCount == kRowsOfOneVector) {
    if (k_step == 1) {
      add_vector_products<kWhole>(a, row_step, b, b_stride, left, lanes, sums);
      left = 0;
    }
  }
  // With 16 registers four steps at once push sums out of them.
  constexpr bool kFourAtOnce = kVectors == 4;
  for (; kFourAtOnce && left >= 4; left -= 4) {
    add_products<kWhole>(a, row_step, b, lanes, sums);
    add_products<kWhole>(a + k_step, row_step, b + b_stride, lanes, sums);
    add_products<kWhole>(a + 2 * k_step, row_step, b + 2 * b_stride, lanes, sums);
    add_products<kWhole>(a + 3 * k_step, row_step, b + 3 * b_stride, lanes, sums);
    a += 4 * k_step;
    b += 4 * b_stride;
  }
  for (; left > 0; --left) {
    add_products<kWhole>(a, row_step, b, lanes, sums);
    a += k_step;
    b += b_stride;
  }
  for (int r = 0; r < kRowCount; ++r) {
    for (int v = 0; v < kVectorCount; ++v) {
      store<kWhole>(sums.of[r][v], c + r * c_stride + v * lanes, lanes);
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
                              Matrix<const T> start, Matrix<T> c, Index row, Index column,
                              Index rest) {
  const Index width = kWhole ? kVectorCount * lanes_of<T>() : rest;
  if (ranges.columns != nullptr) {
    const KeyRange wanted = united(ranges.columns + row, kRowCount);
    if (wanted.begin >= column + width || wanted.end <= column) return;
    if constexpr (kWhole && kVectorCount > 1) {
      if (wanted.end <= column + width - lanes_of<T>()) {
        return multiply_rows<kRowCount, kVectorCount - 1, true>(a, b, ranges, start, c, row, column,
                                                                rest);
      }
    }
  }
  const KeyRange k =
      ranges.k == nullptr ? KeyRange{0, b.rows()} : united(ranges.k + row, kRowCount);
  multiply_block<kRowCount, kVectorCount, kWhole>(
      a.data + row * a.row_step, a.row_step, a.k_step, b.data() + column, b.stride(), k,
      start.data() == nullptr ? nullptr : start.row(row) + column, start.stride(),
      c.row(row) + column, c.stride(), rest);
}

// All rows by the same columns, so that these columns of b stay in the first cache.
template <int kVectorCount, bool kWhole, class T>
HWY_INLINE void multiply_columns(const Walk<T>& a, Matrix<const T> b, const ProductRanges& ranges,
                                 Matrix<const T> start, Matrix<T> c, Index column, Index rest) {
  Index row = 0;
  const auto take = [&](auto count) HWY_ATTR {
    constexpr int kCount = decltype(count)::value;
    for (; row + kCount <= c.rows(); row += kCount) {
      multiply_rows<kCount, kVectorCount, kWhole>(a, b, ranges, start, c, row, column, rest);
    }
  };
  if constexpr (kVectorCount == 1) take(std::integral_constant<int, kRowsOfOneVector>());
  take(std::integral_constant<int, kRows>());
  take(std::integral_constant<int, 4>());
  take(std::integral_constant<int, 2>());
  take(std::integral_constant<int, 1>());
}

template <class T>
void multiply_tile(const Walk<T>& a, Matrix<const T> b, const ProductRanges& ranges,
                   Matrix<const T> start, Matrix<T> c) {
  const Index lanes = lanes_of<T>();
  const Index width = c.cols();
  Index column = 0;
  for (; column + kVectors * lanes <= width; column += kVectors * lanes) {
    multiply_columns<kVectors, true>(a, b, ranges, start, c, column, 0);
  }
  for (; column + lanes <= width; column += lanes) {
    multiply_columns<1, true>(a, b, ranges, start, c, column, 0);
  }
  if (column < width) multiply_columns<1, false>(a, b, ranges, start, c, column, width - column);
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
