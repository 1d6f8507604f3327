// A tile of attention with queries as lanes, for attend_queries.cpp. Included once a target.
#if defined(ATTNTOOLS_OPS_ATTEND_QUERIES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNTOOLS_OPS_ATTEND_QUERIES_INL_H
#undef ATTNTOOLS_OPS_ATTEND_QUERIES_INL_H
#else
#define ATTNTOOLS_OPS_ATTEND_QUERIES_INL_H
#endif

#include "ops/query_scores-inl.h"
#include "ops/query_weights-inl.h"
#include "ops/turn-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

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
    if constexpr (2 * kCount <= kVectors) take(std::integral_constant<int, 8>());
    take(std::integral_constant<int, kRows>());
    take(std::integral_constant<int, 4>());
    take(std::integral_constant<int, 2>());
    take(std::integral_constant<int, 1>());
  });
}

// The same, leaving out what a row does not see instead of multiplying it by 0: values may be NaN
// there. One that it does see stays, however small its weight.
template <class T>
void mix_seen_of_patch(const LaneTile<T>& tile, const LaneBlock<T>& block, const Patch& patch) {
  const Tag<T> d;
  const Index lanes = lanes_of<T>();
  for (Index x = patch.vector * lanes; x < (patch.vector + patch.vectors) * lanes; x += lanes) {
    const LaneSight<T> sight(block, x);
    for_pieces(tile, patch.keys, [&](Index at, Matrix<const T>, Matrix<const T> v) HWY_ATTR {
      for (Index j = 0; j < v.rows(); ++j) {
        const auto weight = hn::LoadU(d, block.scores.row(at + j) + x);
        const auto seen = sight.of(tile.key0 + at + j);
        for (Index c = 0; c < v.cols(); ++c) {
          const auto sum = hn::LoadU(d, block.out.row(c) + x);
          const auto more = hn::MulAdd(hn::Set(d, v(j, c)), weight, sum);
          hn::StoreU(hn::IfThenElse(seen, more, sum), d, block.out.row(c) + x);
        }
      }
    });
  }
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
    hn::Vec<Tag<T>> factors[1] = {hn::Sub(before, shift)};
    exp_of_units<1>(factors);
    const auto factor = factors[0];
    hn::StoreU(largest, d, block.largest + x);
    hn::StoreU(shift, d, block.shift + x);
    hn::StoreU(hn::Mul(hn::LoadU(d, block.total + x), factor), d, block.total + x);
    // Nothing was summed, or nothing shrinks.
    if (hn::AllTrue(d, hn::Or(hn::Eq(before, hidden), hn::Eq(factor, one)))) continue;
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
  each([&](const Patch& patch, auto) HWY_ATTR { weights_of_patch(block, patch); });
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
