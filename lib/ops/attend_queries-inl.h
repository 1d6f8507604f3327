// A tile of attention with queries as lanes, for attend_queries.cpp. Included once a target.
#if defined(ATTNTOOLS_OPS_ATTEND_QUERIES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNTOOLS_OPS_ATTEND_QUERIES_INL_H
#undef ATTNTOOLS_OPS_ATTEND_QUERIES_INL_H
#else
#define ATTNTOOLS_OPS_ATTEND_QUERIES_INL_H
#endif

#include "ops/attend_patches-inl.h"
#include "ops/turn-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

// Scores are taken in this unit, in which exp is the cheapest: of float, binary digits.
template <class T>
inline constexpr T kScoreUnit = std::is_same_v<T, float> ? T(1.44269504F) : T{1};

// c of 2^r = 1 + r (c0 + r (c1 + ...)) for |r| <= 1/2, interpolated at Chebyshev's nodes: 5.1e-9
// off at most, with roundings 0.6 units of the last place.
inline constexpr float kPowerOfTwo[] = {0.69314718F,   0.24022651F,   0.055503570F,
                                        0.0096180830F, 0.0013390863F, 0.00015453163F};

// Where x is NaN, so is what comes.
template <class V>
HWY_INLINE V at_least(V x, V least) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return hn::Max(least, x);  // of these instructions a NaN among the two gives the second
#else
  return hn::IfThenElse(hn::Lt(x, least), least, x);
#endif
}

// exp of what is 0 at most, in kScoreUnit, or NaN, which stays one. Float: 2^t = 2^n 2^r; adding
// 1.5 * 2^23 + 127 rounds to n and leaves the bits of 2^n's exponent. Below 2^-126.5 it is 0.
template <class V>
HWY_INLINE V exp_of_units(V t) {
  const hn::DFromV<V> d;
  if constexpr (!std::is_same_v<hn::TFromV<V>, float>) {
    return exp_of(t);
  } else {
    const hn::RebindToSigned<decltype(d)> di;
    const auto c = [=](int i) HWY_ATTR { return hn::Set(d, kPowerOfTwo[i]); };
    const V shifter = hn::Set(d, 12582912.0F + 127.0F);
    t = at_least(t, hn::Set(d, -127.0F));
    const V shifted = hn::Add(t, shifter);
    const V r = hn::Sub(t, hn::Sub(shifted, shifter));
    const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
    // Short chains of steps, for many wait for their turn.
    const V square = hn::Mul(r, r);
    V p = hn::MulAdd(square, hn::MulAdd(r, c(5), c(4)), hn::MulAdd(r, c(3), c(2)));
    p = hn::MulAdd(square, p, hn::MulAdd(r, c(1), c(0)));
    return hn::MulAdd(hn::Mul(r, power), p, power);
  }
}

// Scores of a vector's queries for keys that they do not see become minus infinity.
template <class T>
void hide_keys(const LaneTile<T>& tile, const LaneBlock<T>& block, KeyRange keys, Index vector) {
  const Tag<T> d;
  const Index lane = vector * lanes_of<T>();
  const KeyRange first = block.visible[0];
  const auto begins = hn::LoadU(d, block.begins + lane);
  const auto ends = hn::LoadU(d, block.ends + lane);
  const auto hidden = hn::Set(d, -std::numeric_limits<T>::infinity());
  for (Index j = keys.begin; j < keys.end; ++j) {
    // begins and ends are small, and these at most as large: exact in any T.
    const Index key = tile.key0 + j;
    const auto from_begin = hn::Set(d, static_cast<T>(std::min(key - first.begin, block.rows)));
    const auto from_end = hn::Set(d, static_cast<T>(std::max<Index>(key - first.end, -1)));
    const auto seen = hn::And(hn::Le(begins, from_begin), hn::Lt(from_end, ends));
    T* const at = block.scores.row(j) + lane;
    // By replacement, for a hidden key's product may be NaN.
    hn::StoreU(hn::IfThenElse(seen, hn::LoadU(d, at), hidden), d, at);
  }
}

template <int kCount, class T>
void scores_of_patch(const LaneTile<T>& tile, const LaneBlock<T>& block, const Patch& patch) {
  const Tag<T> d;
  const Index lanes = lanes_of<T>();
  const Index lane = patch.vector * lanes;
  const Matrix<const T> q = block.q.col_block(lane, kCount * lanes);
  for_pieces(tile, patch.keys, [&](Index at, Matrix<const T> k, Matrix<const T>) HWY_ATTR {
    const Matrix<T> s = block.scores.row_block(at, k.rows()).col_block(lane, kCount * lanes);
    multiply_columns<kCount, true>(Walk<T>{k.data(), k.stride(), 1}, q, {}, {}, s, 0, 0);
  });
  for (Index v = 0; v < kCount; ++v) {
    const KeyRange all = all_see(tile, block, patch.vector + v);
    if (all.begin > patch.keys.begin || all.end < patch.keys.end) {
      hide_keys(tile, block, patch.keys, patch.vector + v);
    }
  }
  hn::Vec<Tag<T>> rise[static_cast<size_t>(kCount)];
  for (int v = 0; v < kCount; ++v) rise[v] = hn::LoadU(d, block.rise + lane + v * lanes);
  const T* row = block.scores.row(patch.keys.begin) + lane;
  const Index stride = block.scores.stride();
  Index left = patch.keys.end - patch.keys.begin;
  for (; left >= 2; left -= 2, row += 2 * stride) {
    for (int v = 0; v < kCount; ++v) {
      const auto two =
          hn::Max(hn::LoadU(d, row + v * lanes), hn::LoadU(d, row + stride + v * lanes));
      rise[v] = hn::Max(rise[v], two);
    }
  }
  for (int v = 0; left > 0 && v < kCount; ++v) {
    rise[v] = hn::Max(rise[v], hn::LoadU(d, row + v * lanes));
  }
  for (int v = 0; v < kCount; ++v) hn::StoreU(rise[v], d, block.rise + lane + v * lanes);
}

template <class T>
void keep_scores(const LaneTile<T>& tile, const LaneBlock<T>& block, const Patch& patch) {
  const Index lane = patch.vector * lanes_of<T>();
  const Index end = std::min(lane + patch.vectors * lanes_of<T>(), block.rows);
  for (Index j = patch.keys.begin; j < patch.keys.end; ++j) {
    for (Index r = lane; r < end; ++r) {
      block.kept(r, tile.key0 + j) = block.scores(j, r) / kScoreUnit<T>;
    }
  }
}

// Scores become weights in units of exp(shift), and sums of them are added up.
template <int kCount, class T>
void weights_of_patch(const LaneBlock<T>& block, const Patch& patch) {
  const Tag<T> d;
  const Index lanes = lanes_of<T>();
  const Index lane = patch.vector * lanes;
  hn::Vec<Tag<T>> shift[static_cast<size_t>(kCount)], total[static_cast<size_t>(kCount)];
  for (int v = 0; v < kCount; ++v) {
    shift[v] = hn::LoadU(d, block.shift + lane + v * lanes);
    total[v] = hn::LoadU(d, block.total + lane + v * lanes);
  }
  T* row = block.scores.row(patch.keys.begin) + lane;
  for (Index j = patch.keys.begin; j < patch.keys.end; ++j, row += block.scores.stride()) {
    for (int v = 0; v < kCount; ++v) {
      const auto weight = exp_of_units(hn::Sub(hn::LoadU(d, row + v * lanes), shift[v]));
      hn::StoreU(weight, d, row + v * lanes);
      total[v] = hn::Add(total[v], weight);
    }
  }
  for (int v = 0; v < kCount; ++v) hn::StoreU(total[v], d, block.total + lane + v * lanes);
}

// out += weights * values, feature by feature.
template <int kCount, class T>
void mix_patch(const LaneTile<T>& tile, const LaneBlock<T>& block, const Patch& patch) {
  const Index lane = patch.vector * lanes_of<T>();
  for_pieces(tile, patch.keys, [&](Index at, Matrix<const T>, Matrix<const T> v) HWY_ATTR {
    const T* const weights = block.scores.row(at) + lane;
    Index row = 0;
    const auto take = [&](auto count) HWY_ATTR {
      constexpr int kFeatures = decltype(count)::value;
      for (; row + kFeatures <= v.cols(); row += kFeatures) {
        T* const sums = block.out.row(row) + lane;
        multiply_block<kFeatures, kCount, true>(v.data() + row, 1, v.stride(), weights,
                                                block.scores.stride(), {0, v.rows()}, sums,
                                                block.out.stride(), sums, block.out.stride(), 0);
      }
    };
    if constexpr (kCount < 3) take(std::integral_constant<int, 8>());
    take(std::integral_constant<int, kRows>());
    take(std::integral_constant<int, 4>());
    take(std::integral_constant<int, 2>());
    take(std::integral_constant<int, 1>());
  });
}

// The same, leaving out what has weight 0 instead of multiplying it: values may be NaN there.
template <class T>
void mix_seen_of_patch(const LaneTile<T>& tile, const LaneBlock<T>& block, const Patch& patch) {
  const Tag<T> d;
  const Index lanes = lanes_of<T>();
  for_pieces(tile, patch.keys, [&](Index at, Matrix<const T>, Matrix<const T> v) HWY_ATTR {
    for (Index j = 0; j < v.rows(); ++j) {
      for (Index x = patch.vector * lanes; x < (patch.vector + patch.vectors) * lanes; x += lanes) {
        const auto weight = hn::LoadU(d, block.scores.row(at + j) + x);
        const auto hidden = hn::Eq(weight, hn::Zero(d));
        for (Index c = 0; c < v.cols(); ++c) {
          const auto sum = hn::LoadU(d, block.out.row(c) + x);
          const auto more = hn::MulAdd(hn::Set(d, v(j, c)), weight, sum);
          hn::StoreU(hn::IfThenElse(hidden, sum, more), d, block.out.row(c) + x);
        }
      }
    }
  });
}

// use(count) with the number of a patch's vectors as a constant.
template <class F>
HWY_INLINE void with_vectors(Index vectors, const F& use) {
  static_assert(kVectors == 2 || kVectors == 4);
  switch (vectors) {
    case 1:
      return use(std::integral_constant<int, 1>());
    case 2:
      return use(std::integral_constant<int, 2>());
    default:
      break;
  }
  if constexpr (kVectors == 4) {
    if (vectors == 3) return use(std::integral_constant<int, 3>());
    return use(std::integral_constant<int, 4>());
  }
}

// The running maximum rises to that of the tile, and what was summed before shrinks.
template <class T>
void rise_of_lanes(const LaneBlock<T>& block) {
  const Tag<T> d;
  const Index lanes = lanes_of<T>();
  const auto hidden = hn::Set(d, -std::numeric_limits<T>::infinity());
  const auto one = hn::Set(d, T{1});
  for (Index x = 0; x < block.q.cols(); x += lanes) {
    const auto before = hn::LoadU(d, block.largest + x);
    const auto largest = hn::Max(before, hn::LoadU(d, block.rise + x));
    const auto shift = hn::IfThenZeroElse(hn::Eq(largest, hidden), largest);
    const auto factor = exp_of_units(hn::Sub(before, shift));
    hn::StoreU(largest, d, block.largest + x);
    hn::StoreU(shift, d, block.shift + x);
    hn::StoreU(hn::Mul(hn::LoadU(d, block.total + x), factor), d, block.total + x);
    if (hn::AllTrue(d, hn::Eq(factor, one))) continue;
    for (Index c = 0; c < block.out.rows(); ++c) {
      T* const sums = block.out.row(c) + x;
      hn::StoreU(hn::Mul(hn::LoadU(d, sums), factor), d, sums);
    }
  }
}

template <class T>
void lanes_of_tile(const LaneTile<T>& tile, const LaneBlock<T>& block) {
  const Patches patches = patches_of(tile, block);
  const auto each = [&](const auto& use) HWY_ATTR {
    for (Index i = 0; i < patches.count; ++i) {
      const Patch& patch = patches.of[i];
      with_vectors(patch.vectors, [&](auto count) HWY_ATTR { use(patch, count); });
    }
  };
  std::fill_n(block.rise, block.q.cols(), -std::numeric_limits<T>::infinity());
  each([&](const Patch& patch, auto count)
           HWY_ATTR { scores_of_patch<decltype(count)::value>(tile, block, patch); });
  for (Index i = 0; !block.kept.empty() && i < patches.count; ++i) {
    keep_scores(tile, block, patches.of[i]);
  }
  rise_of_lanes(block);
  each([&](const Patch& patch, auto count)
           HWY_ATTR { weights_of_patch<decltype(count)::value>(block, patch); });
  each([&](const Patch& patch, auto count) HWY_ATTR {
    if (tile.skip_hidden) {
      mix_seen_of_patch(tile, block, patch);
    } else {
      mix_patch<decltype(count)::value>(tile, block, patch);
    }
  });
}

// A head's queries become columns, in units of kScoreUnit.
template <class T>
void begin_lanes(Matrix<const T> q, T scale, T sink, const LaneBlock<T>& block) {
  const Tag<T> d;
  turn_rows(q, block.q);
  const auto by = hn::Set(d, scale * kScoreUnit<T>);
  for (Index c = 0; c < block.q.rows(); ++c) {
    transform<T>(
        block.q.cols(), block.q.row(c), [=](auto x) HWY_ATTR { return hn::Mul(x, by); },
        block.q.row(c));
  }
  const bool sinks = sink != -std::numeric_limits<T>::infinity();
  std::fill_n(block.largest, block.q.cols(), sink * kScoreUnit<T>);
  std::fill_n(block.total, block.q.cols(), sinks ? T{1} : T{0});
  std::fill_n(block.out.data(), block.out.rows() * block.out.stride(), T{0});
}

template <class T>
void finish_lanes(const LaneBlock<T>& block, Matrix<T> out, T* lse) {
  const Tag<T> d;
  const Index lanes = lanes_of<T>();
  for (Index x = 0; x < block.q.cols(); x += lanes) {
    const auto total = hn::LoadU(d, block.total + x);
    const auto inverse =
        hn::IfThenZeroElse(hn::Eq(total, hn::Zero(d)), hn::Div(hn::Set(d, T{1}), total));
    for (Index c = 0; c < block.out.rows(); ++c) {
      T* const sums = block.out.row(c) + x;
      hn::StoreU(hn::Mul(hn::LoadU(d, sums), inverse), d, sums);
    }
  }
  turn_rows(Matrix<const T>(block.out.col_block(0, block.rows)), out);
  for (Index r = 0; lse != nullptr && r < block.rows; ++r) {
    const bool seen = !block.visible[r].empty() && block.total[r] != T{0};
    lse[r] = seen ? block.largest[r] / kScoreUnit<T> + std::log(block.total[r])
                  : -std::numeric_limits<T>::infinity();
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#endif
