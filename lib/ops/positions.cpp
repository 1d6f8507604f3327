#include "ops/positions.h"

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

// base^(-2i/dim): how fast the i-th pair of features turns.
double frequency(double base, Index i, Index dim) {
  return std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
}

// direction 1 turns forward, -1 back.
template <class T>
void rotate(const RopeTable<T>& table, RopePairs pairs, Index head_dim, Index pos0, T direction,
            Matrix<T> x) {
  const Index half = table.half;
  require_shape(half > 0 && head_dim >= 2 * half, "rope: the table is made for another head_dim");
  require_shape(head_dim > 0 && x.cols() % head_dim == 0, "rope: the columns are no whole heads");
  const Index held = static_cast<Index>(table.cos.size()) / half;
  require_shape(pos0 >= table.first && pos0 + x.rows() <= table.first + held,
                "rope: the table does not hold these positions");
  const Index step = pairs == RopePairs::kInterleaved ? 2 : 1;  // from one pair to the next
  const Index apart = pairs == RopePairs::kInterleaved ? 1 : half;
  for (Index r = 0; r < x.rows(); ++r) {
    const Index at = (pos0 - table.first + r) * half;
    const T* cosines = table.cos.data() + at;
    const T* sines = table.sin.data() + at;
    for (Index head = 0; head < x.cols(); head += head_dim) {
      T* features = x.row(r) + head;
      for (Index i = 0; i < half; ++i) {
        T& first = features[i * step];
        T& second = features[i * step + apart];
        const T a = first;
        const T b = second;
        const T sine = direction * sines[i];
        first = a * cosines[i] - b * sine;
        second = a * sine + b * cosines[i];
      }
    }
  }
}

}  // namespace

template <class T>
void sinusoidal_positions(double base, Index first, Matrix<T> table) {
  // A frequency costs as much as a sine: each is computed once, for the pair and all rows.
  for (Index j = 0; j < table.cols(); j += 2) {
    const double turn = frequency(base, j / 2, table.cols());
    for (Index r = 0; r < table.rows(); ++r) {
      const double phase = static_cast<double>(first + r) * turn;
      table(r, j) = static_cast<T>(std::sin(phase));
      if (j + 1 < table.cols()) table(r, j + 1) = static_cast<T>(std::cos(phase));
    }
  }
}

std::vector<double> sinusoidal_frequencies(Index dim, double base, bool tensor2tensor) {
  std::vector<double> all;
  if (!tensor2tensor) {
    for (Index i = 0; i < (dim + 1) / 2; ++i) all.push_back(frequency(base, i, dim));
    return all;
  }
  const double steps = static_cast<double>(std::max<Index>(1, dim / 2 - 1));
  for (Index i = 0; i < dim / 2; ++i)
    all.push_back(std::pow(base, -static_cast<double>(i) / steps));
  return all;
}

void sinusoidal_row(const std::vector<double>& frequencies, const SinusoidalForm& form,
                    double position, Matrix<double> row) {
  const Index dim = row.cols();
  const Index sines = static_cast<Index>(frequencies.size());
  for (Index i = 0; i < sines; ++i) {
    const double phase = position * frequencies[static_cast<std::size_t>(i)];
    const Index sine = form.concatenated ? i : 2 * i;
    const Index cosine = form.concatenated ? sines + i : 2 * i + 1;
    row(0, sine) = std::sin(phase);
    if (cosine < dim) row(0, cosine) = std::cos(phase);
  }
  if (form.tensor2tensor && dim % 2 != 0) row(0, dim - 1) = 0;
}

template <class T>
RopeTable<T>::RopeTable(Index head_dim, double base, Index first_position, Index positions)
    : RopeTable(rope_frequencies(head_dim, base, {}, 0), first_position, positions) {}

template <class T>
RopeTable<T>::RopeTable(const RopeFrequencies& frequencies, Index first_position, Index positions)
    : first(first_position), half(static_cast<Index>(frequencies.inv_freq.size())) {
  const Index count = positions * half;
  cos.reserve(static_cast<std::size_t>(count));
  sin.reserve(static_cast<std::size_t>(count));
  for (Index r = 0; r < positions; ++r) {
    for (const double turn : frequencies.inv_freq) {
      const double angle = static_cast<double>(first + r) * turn;
      cos.push_back(static_cast<T>(std::cos(angle) * frequencies.attention_factor));
      sin.push_back(static_cast<T>(std::sin(angle) * frequencies.attention_factor));
    }
  }
}

template <class T>
void rope_rotate(const RopeTable<T>& table, RopePairs pairs, Index head_dim, Index pos0,
                 Matrix<T> x) {
  rotate(table, pairs, head_dim, pos0, T{1}, x);
}

template <class T>
void rope_rotate_back(const RopeTable<T>& table, RopePairs pairs, Index head_dim, Index pos0,
                      Matrix<T> x) {
  rotate(table, pairs, head_dim, pos0, T{-1}, x);
}

std::vector<double> alibi_slopes(Index heads) {
  require_shape(heads >= 1, "alibi_slopes: at least one head is wanted");
  Index power = 1;
  while (power <= heads / 2) power *= 2;
  std::vector<double> slopes;
  slopes.reserve(static_cast<std::size_t>(heads));
  for (Index h = 0; h < power; ++h) {
    slopes.push_back(std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(power)));
  }
  for (Index h = 0; h < heads - power; ++h) {
    slopes.push_back(
        std::exp2(-8.0 * static_cast<double>(2 * h + 1) / static_cast<double>(2 * power)));
  }
  return slopes;
}

Index t5_bucket(Index relative, Index num_buckets, Index max_distance, bool bidirectional) {
  const Index buckets = bidirectional ? num_buckets / 2 : num_buckets;
  const Index exact = buckets / 2;
  require_shape(exact >= 1 && max_distance > exact, "t5_bucket: max_distance is too small");
  const Index first = bidirectional && relative > 0 ? buckets : 0;
  const Index distance = bidirectional ? std::abs(relative) : std::max<Index>(-relative, 0);
  if (distance < exact) return first + distance;
  const double whole = static_cast<double>(exact);
  const double grown = std::log(static_cast<double>(distance) / whole) /
                       std::log(static_cast<double>(max_distance) / whole) *
                       static_cast<double>(buckets - exact);
  // A distance on a border belongs to the farther bucket, whatever its logarithm is rounded to.
  constexpr double kBorder = 1e-9;
  return first + std::min(exact + static_cast<Index>(std::floor(grown + kBorder)), buckets - 1);
}

template void sinusoidal_positions<float>(double, Index, Matrix<float>);
template void sinusoidal_positions<double>(double, Index, Matrix<double>);
template struct RopeTable<float>;
template struct RopeTable<double>;
template void rope_rotate<float>(const RopeTable<float>&, RopePairs, Index, Index, Matrix<float>);
template void rope_rotate<double>(const RopeTable<double>&, RopePairs, Index, Index,
                                  Matrix<double>);
template void rope_rotate_back<float>(const RopeTable<float>&, RopePairs, Index, Index,
                                      Matrix<float>);
template void rope_rotate_back<double>(const RopeTable<double>&, RopePairs, Index, Index,
                                       Matrix<double>);

}  // namespace attn
