#include "check/reference/matrix_rank.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace attn {

namespace {

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t n = 0; n < a.size(); ++n) sum += a[n] * b[n];
  return sum;
}

}  // namespace

Index matrix_rank(Matrix<const double> matrix, double tolerance) {
  std::vector<std::vector<double>> rows(static_cast<std::size_t>(matrix.rows()));
  double largest = 0;
  for (Index i = 0; i < matrix.rows(); ++i) {
    std::vector<double>& row = rows[static_cast<std::size_t>(i)];
    for (Index j = 0; j < matrix.cols(); ++j) row.push_back(matrix(i, j));
    largest = std::max(largest, std::sqrt(dot(row, row)));
  }
  Index rank = 0;
  while (!rows.empty()) {
    std::size_t longest = 0;
    double length = 0;
    for (std::size_t n = 0; n < rows.size(); ++n) {
      const double own = std::sqrt(dot(rows[n], rows[n]));
      if (own > length) {
        length = own;
        longest = n;
      }
    }
    if (!(length > tolerance * largest)) break;
    ++rank;
    std::swap(rows[longest], rows.back());
    std::vector<double> taken = std::move(rows.back());
    rows.pop_back();
    for (double& value : taken) value /= length;
    for (std::vector<double>& row : rows) {
      const double along = dot(row, taken);
      for (std::size_t n = 0; n < row.size(); ++n) row[n] -= along * taken[n];
    }
  }
  return rank;
}

}  // namespace attn
