#include "io/tensor_relation.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/text.h"

namespace attn {
namespace {

double rounding_of(DType type) {
  switch (type) {
    case DType::kF16:
      return 1e-3;
    case DType::kBF16:
      return 8e-3;
    default:
      return 2e-6;
  }
}

double rounded(double value, DType type) {
  const auto narrow = static_cast<float>(value);
  return type == DType::kF16 ? f16_to_float(float_to_f16(narrow))
                             : bf16_to_float(float_to_bf16(narrow));
}

class Relations {
 public:
  Relations(const Tensor<double>& a, DType type_a, const Tensor<double>& b, DType type_b)
      : a_(a), b_(b) {
    double largest = 0;
    for (const double value : b.values) {
      if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    }
    tolerance_ = std::max(rounding_of(type_a), rounding_of(type_b)) * largest;
  }

  std::vector<std::string> find() {
    if (a_.size() != b_.size() || a_.size() == 0 || same()) return {};
    if (a_.shape == b_.shape) {
      rounding("B", "A", a_.values, b_.values);
      rounding("A", "B", b_.values, a_.values);
      factor_and_shift();
      pairing();
    } else if (close(a_.values, b_.values)) {
      found_.push_back(fmt::format("B has the numbers of A in shape {}", shape_text(b_.shape)));
    }
    axes();
    return found_;
  }

 private:
  // Nothing is left to explain, or nothing that a double can tell.
  bool same() const {
    return a_.shape == b_.shape && std::equal(a_.values.begin(), a_.values.end(), b_.values.begin(),
                                              [](double x, double y) {
                                                return x == y || (std::isnan(x) && std::isnan(y));
                                              });
  }

  bool close(const std::vector<double>& x, const std::vector<double>& y) const {
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
      if (!(std::abs(x[i] - y[i]) <= tolerance_)) return false;
    }
    return true;
  }

  void rounding(const char* narrow, const char* wide, const std::vector<double>& from,
                const std::vector<double>& to) {
    for (const DType type : {DType::kF16, DType::kBF16}) {
      bool all = true;
      for (std::size_t i = 0; all && i < from.size(); ++i) {
        const double value = rounded(from[i], type);
        all = value == to[i] || (std::isnan(value) && std::isnan(to[i]));
      }
      if (all)
        found_.push_back(fmt::format("{} is {} rounded to {}", narrow, wide, dtype_name(type)));
    }
  }

  void factor_and_shift() {
    double products = 0;
    double squares = 0;
    double shift = 0;
    for (std::size_t i = 0; i < a_.values.size(); ++i) {
      products += a_.values[i] * b_.values[i];
      squares += a_.values[i] * a_.values[i];
      shift += b_.values[i] - a_.values[i];
    }
    const double factor = squares > 0 ? products / squares : 0;
    shift /= static_cast<double>(a_.values.size());
    std::vector<double> made(a_.values.size());
    const auto try_as = [&](auto change, const std::string& words) {
      std::transform(a_.values.begin(), a_.values.end(), made.begin(), change);
      if (close(made, b_.values)) found_.push_back(words);
    };
    // Of one number any factor would do; a factor of 0 says nothing.
    if (a_.size() < 2) return;
    if (std::isfinite(factor) && std::abs(factor) > 0 && std::abs(factor - 1) > 1e-6) {
      try_as([&](double value) { return factor * value; }, fmt::format("B = {:.6g} * A", factor));
    }
    // A shift below the rounding of the numbers would explain any small difference.
    if (std::isfinite(shift) && std::abs(shift) > tolerance_) {
      try_as([&](double value) { return value + shift; },
             fmt::format("B = A {} {:.6g}", shift < 0 ? "-" : "+", std::abs(shift)));
    }
  }

  // a's axes in another order, given as NumPy's transpose takes it.
  std::vector<double> transposed(const std::vector<std::size_t>& order) const {
    std::vector<Index> strides(a_.shape.size(), 1);
    for (std::size_t n = strides.size(); n-- > 1;) strides[n - 1] = strides[n] * a_.shape[n];
    std::vector<double> made;
    made.reserve(a_.values.size());
    Shape at(order.size());
    for (Index count = 0; count < a_.size(); ++count) {
      Index from = 0;
      for (std::size_t n = 0; n < order.size(); ++n) from += at[n] * strides[order[n]];
      made.push_back(a_.values[static_cast<std::size_t>(from)]);
      for (std::size_t n = order.size(); n-- > 0 && ++at[n] == a_.shape[order[n]];) at[n] = 0;
    }
    return made;
  }

  void axes() {
    constexpr std::size_t kMostAxes = 5;
    if (a_.shape.size() != b_.shape.size() || a_.shape.size() > kMostAxes) return;
    std::vector<std::size_t> order(a_.shape.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    while (std::next_permutation(order.begin(), order.end())) {
      bool fits = true;
      bool moves = false;  // more than axes of extent 1
      std::size_t last = 0;
      for (std::size_t n = 0; n < order.size(); ++n) {
        fits = fits && a_.shape[order[n]] == b_.shape[n];
        if (a_.shape[order[n]] == 1) continue;
        moves = moves || order[n] < last;
        last = order[n];
      }
      if (!fits || !moves || !close(transposed(order), b_.values)) continue;
      Shape told(order.begin(), order.end());
      found_.push_back(fmt::format("B is A with its axes in the order {}", shape_text(told)));
      return;
    }
  }

  // Along an axis in groups of `width`: feature i + half of one stands at 2 i + 1 of the other.
  bool paired(std::size_t axis, Index width, bool interleaved_in_a) const {
    Index inner = 1;
    for (std::size_t n = axis + 1; n < a_.shape.size(); ++n) inner *= a_.shape[n];
    const Index extent = a_.shape[axis];
    const Index half = width / 2;
    for (Index at = 0; at < a_.size(); ++at) {
      const Index feature = at / inner % extent;
      const Index place = feature % width;
      const Index other =
          interleaved_in_a ? (place % half) * 2 + place / half : place / 2 + (place % 2) * half;
      const double x = b_.values[static_cast<std::size_t>(at)];
      const double y = a_.values[static_cast<std::size_t>(at + (other - place) * inner)];
      if (!(std::abs(x - y) <= tolerance_)) return false;
    }
    return true;
  }

  void pairing() {
    if (a_.shape.empty()) return;
    const std::size_t last = a_.shape.size() - 1;
    for (const std::size_t axis : {last, std::size_t{0}}) {
      const Index extent = a_.shape[axis];
      for (Index width : {extent, Index{256}, Index{128}, Index{96}, Index{80}, Index{64},
                          Index{32}, Index{16}, Index{8}, Index{4}}) {
        if (width < 4 || width % 2 != 0 || width > extent || extent % width != 0) continue;
        for (const bool interleaved_in_a : {true, false}) {
          if (!paired(axis, width, interleaved_in_a)) continue;
          found_.push_back(
              fmt::format("features are paired {} in A and {} in B (axis {}, in groups of {})",
                          interleaved_in_a ? "interleaved" : "as halves",
                          interleaved_in_a ? "as halves" : "interleaved", axis, width));
          return;
        }
      }
      if (last == 0) return;
    }
  }

  const Tensor<double>& a_;
  const Tensor<double>& b_;
  double tolerance_ = 0;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> tensor_relations(const Tensor<double>& a, DType type_a,
                                          const Tensor<double>& b, DType type_b) {
  return Relations(a, type_a, b, type_b).find();
}

}  // namespace attn
