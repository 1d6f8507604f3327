#include "io/tensor_diff.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "io/tensor_summary.h"

namespace attn {
namespace {

// The bits of a float, ordered as numbers are: neighbours differ by one.
template <class Bits>
std::int64_t ordered(Bits bits) {
  constexpr auto kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const auto magnitude = static_cast<std::int64_t>(bits & static_cast<Bits>(~kSign));
  return (bits & kSign) != 0 ? -magnitude : magnitude;
}

std::int64_t step_of(double value, DType type) {
  switch (type) {
    case DType::kF64:
      return ordered(std::bit_cast<std::uint64_t>(value));
    case DType::kF16:
      return ordered(float_to_f16(static_cast<float>(value)));
    case DType::kBF16:
      return ordered(float_to_bf16(static_cast<float>(value)));
    default:
      return ordered(std::bit_cast<std::uint32_t>(static_cast<float>(value)));
  }
}

int significant_bits(DType type) {
  switch (type) {
    case DType::kF64:
      return 53;
    case DType::kF16:
      return 11;
    case DType::kBF16:
      return 8;
    default:
      return 24;
  }
}

std::optional<DType> coarser(DType a, DType b) {
  if (!is_floating(a) && !is_floating(b)) return std::nullopt;
  if (!is_floating(a)) return b;
  if (!is_floating(b)) return a;
  return significant_bits(a) <= significant_bits(b) ? a : b;
}

// In a map: what is finite stays so, and what differs does not become 0.
float mapped(double distance) {
  using Limits = std::numeric_limits<float>;
  if (!std::isfinite(distance)) return Limits::infinity();
  return static_cast<float>(
      std::clamp(distance, double{Limits::denorm_min()}, double{Limits::max()}));
}

class Comparison {
 public:
  Comparison(const std::string& label, const DatasetInfo& a, const DatasetInfo& b,
             const DiffSettings& settings, DifferenceMap* map)
      : shape_(a.shape), settings_(settings), steps_in_(coarser(a.type, b.type)), map_(map) {
    if (steps_in_) found_.max_ulp = 0;
    set_limit(label);
    if (map_ == nullptr) return;
    map_->distance.assign(static_cast<std::size_t>(a.size), 0.0F);
    map_->equal.assign(static_cast<std::size_t>(a.size), 1);
  }

  template <class A, class B>
  void add(Index start, const std::vector<A>& a, const std::vector<B>& b, Index count) {
    for (Index i = 0; i < count; ++i) {
      const Index at = start + i;
      if (before_ && at / stride_ % extent_ >= *before_) continue;
      const auto n = static_cast<std::size_t>(i);
      ++found_.count;
      if (same(a[n], b[n])) {
        equal(static_cast<double>(a[n]));
      } else {
        unequal(at, static_cast<double>(a[n]), static_cast<double>(b[n]), distance(a[n], b[n]));
      }
    }
  }

  TensorDifference result() const {
    TensorDifference found = found_;
    if (found.differing > 0 || squares_error_ > 0) {
      found.nmse = squares_a_ > 0 ? squares_error_ / squares_a_ : HUGE_VAL;
      const double norms = std::sqrt(squares_a_) * std::sqrt(squares_b_);
      found.cosine = norms > 0 ? products_ / norms : 0;
      if (squares_error_ == 0) found.nmse = 0;
      if (squares_a_ == 0 && squares_b_ == 0) found.cosine = 1;
    }
    return found;
  }

 private:
  void set_limit(const std::string& label) {
    if (!settings_.equal_before || shape_.empty()) return;
    const auto rank = static_cast<Index>(shape_.size());
    const Index axis = rank == 1 ? 0 : settings_.axis < 0 ? settings_.axis + rank : settings_.axis;
    if (axis < 0 || axis >= rank) {
      throw DataError(fmt::format("{} has shape {}: no axis {} to compare along", label,
                                  shape_text(shape_), settings_.axis));
    }
    before_ = settings_.equal_before;
    extent_ = shape_[static_cast<std::size_t>(axis)];
    stride_ = 1;
    for (auto n = static_cast<std::size_t>(axis) + 1; n < shape_.size(); ++n) stride_ *= shape_[n];
  }

  void equal(double value) {
    if (!std::isfinite(value)) return;
    squares_a_ += value * value;
    squares_b_ += value * value;
    products_ += value * value;
  }

  void differ(Index at, double error) {
    if (map_ != nullptr) {
      map_->distance[static_cast<std::size_t>(at)] = mapped(error);
      map_->equal[static_cast<std::size_t>(at)] = 0;
    }
    ++found_.differing;
    if (!found_.first) found_.first = position_of(at, shape_);
  }

  static bool same(double a, double b) { return a == b; }
  static double distance(double a, double b) { return std::abs(a - b); }
  // Of integers that no double tells apart too, one of 64 bits with a sign beside one without.
  template <class A, class B>
  static bool same(A a, B b) {
    return std::cmp_equal(a, b);
  }
  template <class A, class B>
  static double distance(A a, B b) {
    const __int128 difference = static_cast<__int128>(a) - static_cast<__int128>(b);
    return static_cast<double>(difference < 0 ? -difference : difference);
  }

  void unequal(Index at, double a, double b, double error) {
    if (!std::isfinite(a) || !std::isfinite(b)) {
      if (settings_.nan_equal && std::isnan(a) && std::isnan(b)) return;
      ++found_.nonfinite;
      differ(at, HUGE_VAL);
      return;
    }
    squares_a_ += a * a;
    squares_b_ += b * b;
    products_ += a * b;
    squares_error_ += error * error;
    if (error > found_.max_abs || !found_.worst) {
      found_.max_abs = error;
      found_.worst = position_of(at, shape_);
    }
    if (a != 0) found_.max_rel = std::max(found_.max_rel, error / std::abs(a));
    if (steps_in_) {
      // From the largest negative to the largest positive f64 leaves 63 bits.
      const __int128 steps = static_cast<__int128>(step_of(a, *steps_in_)) - step_of(b, *steps_in_);
      found_.max_ulp = std::max(*found_.max_ulp, std::abs(static_cast<double>(steps)));
    }
    if (!(error <= settings_.atol + settings_.rtol * std::abs(a))) differ(at, error);
  }

  Shape shape_;
  DiffSettings settings_;
  std::optional<DType> steps_in_;
  std::optional<Index> before_;
  Index stride_ = 1;
  Index extent_ = 1;
  TensorDifference found_;
  DifferenceMap* map_;
  double squares_a_ = 0, squares_b_ = 0, squares_error_ = 0, products_ = 0;
};

template <class A, class B>
TensorDifference compare(const TensorFile& a, const std::string& a_path, const TensorFile& b,
                         const std::string& b_path, Comparison comparison, Index size) {
  constexpr Index kBlock = Index{1} << 18;
  std::vector<A> of_a(static_cast<std::size_t>(std::min(size, kBlock)));
  std::vector<B> of_b(of_a.size());
  for (Index start = 0; start < size; start += kBlock) {
    const Index count = std::min(kBlock, size - start);
    a.read_run(a_path, start, count, of_a.data());
    b.read_run(b_path, start, count, of_b.data());
    comparison.add(start, of_a, of_b, count);
  }
  return comparison.result();
}

}  // namespace

TensorDifference tensor_difference(const TensorFile& a, const std::string& a_path,
                                   const TensorFile& b, const std::string& b_path,
                                   const DiffSettings& settings, DifferenceMap* map) {
  const DatasetInfo of_a = a.info(a_path);
  const DatasetInfo of_b = b.info(b_path);
  require_shape(of_a.shape == of_b.shape, "tensor_difference: shapes differ");
  Comparison comparison(fmt::format("{}: {}", a.name(), escaped(a_path)), of_a, of_b, settings,
                        map);
  const auto compared = [&]<class A, class B>(A /*of_a*/, B /*of_b*/) {
    return compare<A, B>(a, a_path, b, b_path, comparison, of_a.size);
  };
  if (is_floating(of_a.type) || is_floating(of_b.type)) return compared(double{}, double{});
  // Integers beyond 2^53 are no doubles.
  using Unsigned = std::uint64_t;
  const bool large_b = of_b.type == DType::kU64;
  if (of_a.type == DType::kU64)
    return large_b ? compared(Unsigned{}, Unsigned{}) : compared(Unsigned{}, Index{});
  return large_b ? compared(Index{}, Unsigned{}) : compared(Index{}, Index{});
}

}  // namespace attn
