#include "check/verdict/saturation.h"

#include <algorithm>
#include <cmath>

#include "core/parallel.h"
#include "core/rng.h"

namespace attn {

namespace {

constexpr Index kQueries = 256;

// Adds one row of scores to the sums: variance is a sum of squares here.
void add_row(const std::vector<double>& scores, double factor, SoftmaxSpread& spread) {
  const double top = *std::max_element(scores.begin(), scores.end()) * factor;
  std::vector<double> weights(scores.size());
  double sum = 0;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const double score = scores[j] * factor;
    spread.score_variance += score * score / static_cast<double>(scores.size());
    weights[j] = std::exp(score - top);
    sum += weights[j];
  }
  double squares = 0;
  double largest = 0;
  for (double& weight : weights) {
    weight /= sum;
    squares += weight * weight;
    largest = std::max(largest, weight);
  }
  spread.entropy += entropy_of(weights.data(), static_cast<Index>(weights.size()));
  spread.largest += largest;
  spread.gradient += 1 - squares;
}

void divide(SoftmaxSpread& spread, double count) {
  for (double* sum : {&spread.score_variance, &spread.entropy, &spread.largest, &spread.gradient}) {
    *sum /= count;
  }
}

Saturation measure(Index head_dim, Index keys, std::uint64_t seed) {
  Rng rng(seed, RandomPurpose::kExample, static_cast<std::uint32_t>(head_dim));
  const auto draw = [&rng](Index count) {
    std::vector<double> numbers(static_cast<std::size_t>(count));
    for (double& number : numbers) number = rng.normal();
    return numbers;
  };
  const std::vector<double> k = draw(keys * head_dim);
  Saturation found;
  found.head_dim = head_dim;
  std::vector<double> scores(static_cast<std::size_t>(keys));
  for (Index i = 0; i < kQueries; ++i) {
    const std::vector<double> q = draw(head_dim);
    for (Index j = 0; j < keys; ++j) {
      double product = 0;
      const double* key = k.data() + j * head_dim;
      for (Index c = 0; c < head_dim; ++c) product += q[static_cast<std::size_t>(c)] * key[c];
      scores[static_cast<std::size_t>(j)] = product;
    }
    add_row(scores, 1 / std::sqrt(static_cast<double>(head_dim)), found.scaled);
    add_row(scores, 1, found.unscaled);
  }
  divide(found.scaled, kQueries);
  divide(found.unscaled, kQueries);
  return found;
}

}  // namespace

double entropy_of(const double* weights, Index count) {
  double entropy = 0;
  for (Index j = 0; j < count; ++j) {
    if (weights[j] > 0) entropy -= weights[j] * std::log(weights[j]);
  }
  return entropy;
}

std::vector<Saturation> saturation(const std::vector<Index>& head_dims, Index keys,
                                   std::uint64_t seed, int threads) {
  std::vector<Saturation> all(head_dims.size());
  parallel_for(static_cast<Index>(all.size()), threads, [&](Index n, int) {
    const auto at = static_cast<std::size_t>(n);
    all[at] = measure(head_dims[at], keys, seed);
  });
  return all;
}

}  // namespace attn
