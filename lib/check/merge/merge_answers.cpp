#include "check/merge/merge_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLn2 = 0.69314718055994530942;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// One row of all parts: their lse, and what each part's out is multiplied by. Returns the row's
// lse.
using Weigh = std::function<double(const std::vector<double>& lse, std::vector<double>& weights)>;

// A row by any weights. A part of weight 0 counts for nothing, unless `nan_survives`.
PartialAnswer weighted(const std::vector<PartialAnswer>& parts, FullyMasked empty,
                       const Weigh& weigh, bool nan_survives = false) {
  PartialAnswer all{Tensor<double>(parts.front().out.shape),
                    Tensor<double>(parts.front().lse.shape)};
  const Index features = all.out.dim(3);
  std::vector<double> lse(parts.size());
  std::vector<double> weights(parts.size());
  for (Index row = 0; row < all.lse.size(); ++row) {
    double* out = all.out.data() + row * features;
    bool seen = false;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      lse[p] = parts[p].lse.data()[row];
      seen = seen || lse[p] != -kInfinity;
    }
    if (!seen) {
      all.lse.data()[row] = -kInfinity;
      if (empty == FullyMasked::kNan) std::fill_n(out, features, kNan);
      continue;
    }
    all.lse.data()[row] = weigh(lse, weights);
    for (std::size_t p = 0; p < parts.size(); ++p) {
      if (weights[p] == 0 && !nan_survives) continue;
      const double* from = parts[p].out.data() + row * features;
      for (Index c = 0; c < features; ++c) out[c] += weights[p] * from[c];
    }
  }
  return all;
}

// exp(lse - lse of all) by a base, in Number's arithmetic.
template <class Number>
double softmax_weights(const std::vector<double>& lse, std::vector<double>& weights, bool base2) {
  const auto power = [base2](Number x) { return base2 ? std::exp2(x) : std::exp(x); };
  const auto top = static_cast<Number>(*std::max_element(lse.begin(), lse.end()));
  Number sum = 0;
  for (const double one : lse) sum += power(static_cast<Number>(one) - top);
  for (std::size_t p = 0; p < lse.size(); ++p) {
    weights[p] = static_cast<double>(power(static_cast<Number>(lse[p]) - top) / sum);
  }
  return static_cast<double>(top + (base2 ? std::log2(sum) : std::log(sum)));
}

double natural(const std::vector<double>& lse, std::vector<double>& weights) {
  return softmax_weights<double>(lse, weights, false);
}

// The right lse beside other weights.
template <class Weight>
Weigh each(const Weight& weight) {
  return [weight](const std::vector<double>& lse, std::vector<double>& weights) {
    const double all = natural(lse, weights);
    for (std::size_t p = 0; p < lse.size(); ++p) weights[p] = weight(lse, p, weights[p], all);
    return all;
  };
}

void lose_parts(const std::vector<PartialAnswer>& parts, FullyMasked empty,
                std::vector<MergeMistake>& found) {
  const auto lose = [&](const std::string& detail, const auto& is_lost) {
    std::vector<PartialAnswer> rest;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      if (!is_lost(p)) rest.push_back(parts[p]);
    }
    found.push_back({"merge-part-lost", detail, merge_answers(rest, empty)});
  };
  for (std::size_t lost = 0; lost < parts.size(); ++lost) {
    lose(fmt::format("part {} is not in it", lost + 1),
         [lost](std::size_t p) { return p == lost; });
  }
  for (std::size_t kept = 0; parts.size() > 2 && kept < parts.size(); ++kept) {
    lose(fmt::format("it is part {} alone", kept + 1), [kept](std::size_t p) { return p != kept; });
  }
}

}  // namespace

PartialAnswer merge_answers(const std::vector<PartialAnswer>& parts, FullyMasked empty) {
  return weighted(parts, empty, natural);
}

PartialAnswer merge_answers_in_float(const std::vector<PartialAnswer>& parts, FullyMasked empty) {
  PartialAnswer all =
      weighted(parts, empty, [](const std::vector<double>& lse, std::vector<double>& weights) {
        return softmax_weights<float>(lse, weights, false);
      });
  for (Tensor<double>* tensor : {&all.out, &all.lse}) {
    for (double& value : tensor->values) value = static_cast<double>(static_cast<float>(value));
  }
  return all;
}

PartialAnswer from_base2(PartialAnswer part) {
  for (double& value : part.lse.values) value *= kLn2;
  return part;
}

std::vector<MergeMistake> merge_mistakes(const std::vector<PartialAnswer>& parts,
                                         FullyMasked empty) {
  std::vector<MergeMistake> found;
  const auto add = [&](const char* name, const char* detail, const Weigh& weigh,
                       bool nan_survives = false) {
    found.push_back({name, detail, weighted(parts, empty, weigh, nan_survives)});
  };
  add("lse-base2", "natural lse were merged as if they were of base 2",
      [](const std::vector<double>& lse, std::vector<double>& weights) {
        return softmax_weights<double>(lse, weights, true);
      });
  std::vector<PartialAnswer> base2;
  base2.reserve(parts.size());
  for (const PartialAnswer& part : parts) base2.push_back(from_base2(part));
  found.push_back({"lse-base2", "the lse of the parts are of base 2, and were merged so",
                   merge_answers(base2, empty)});
  add("merge-empty-part", "a part that saw nothing has weight 0, and its NaN survives that",
      natural, true);
  add("merge-empty-part", "the lse of a part that saw nothing counts as 0",
      [](const std::vector<double>& lse, std::vector<double>& weights) {
        std::vector<double> counted = lse;
        for (double& one : counted) one = one == -kInfinity ? 0 : one;
        return natural(counted, weights);
      });
  lose_parts(parts, empty, found);
  const auto count = static_cast<double>(parts.size());
  add("merge-unweighted", "out is the mean of all parts",
      each([count](const std::vector<double>&, std::size_t, double, double) { return 1 / count; }));
  add("merge-unweighted", "out is the mean of the parts that saw a key",
      each([](const std::vector<double>& lse, std::size_t p, double, double) {
        const auto empty_parts = std::count(lse.begin(), lse.end(), -kInfinity);
        const auto seen = static_cast<double>(static_cast<Index>(lse.size()) - empty_parts);
        return lse[p] == -kInfinity ? 0 : 1 / seen;
      }));
  add("merge-unweighted", "parts are weighted by lse and not by exp(lse)",
      each([](const std::vector<double>& lse, std::size_t p, double, double) {
        double sum = 0;
        for (const double one : lse) sum += one == -kInfinity ? 0 : one;
        return lse[p] == -kInfinity ? 0 : lse[p] / sum;
      }));
  add("merge-not-normalised", "out is the sum of the parts",
      each([](const std::vector<double>& lse, std::size_t p, double, double) {
        return lse[p] == -kInfinity ? 0.0 : 1.0;
      }));
  add("merge-not-normalised", "parts times exp(lse - largest lse) are not divided by their sum",
      each([](const std::vector<double>& lse, std::size_t p, double, double) {
        return std::exp(lse[p] - *std::max_element(lse.begin(), lse.end()));
      }));
  add("merge-not-normalised", "parts times exp(lse) are not divided by their sum",
      each([](const std::vector<double>& lse, std::size_t p, double, double) {
        return std::exp(lse[p]);
      }));
  return found;
}

}  // namespace attn
