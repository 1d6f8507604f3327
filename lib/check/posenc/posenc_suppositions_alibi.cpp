#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "check/posenc/posenc_suppositions.h"

namespace attn {
namespace {

using List = std::vector<PosencSupposition<AlibiMaking>>;
using Made = AlibiMaking;

// The slopes that were used, from the slopes or, where there are none, from the bias at the
// largest distance of the first query's past or of the last one's.
std::vector<double> used_slopes(const PosencCase& c) {
  const PosencPart* bias = c.part("bias");
  const PosencPart* slopes = c.part("slopes");
  if (bias == nullptr) return slopes->values.values;
  const Index n = bias->values.dim(1);
  const Index m = bias->values.dim(2);
  std::vector<double> used;
  for (Index h = 0; h < c.alibi.heads; ++h) {
    const double far = static_cast<double>(m - 1);
    used.push_back(m > 1 ? std::abs(bias->values.data()[(h * n + n - 1) * m]) / far : 0);
  }
  return used;
}

bool near(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr double kPart = 1e-5;  // looser than the check: used slopes may be quotients
  for (std::size_t h = 0; h < a.size(); ++h) {
    if (!(std::abs(a[h] - b[h]) <= kPart * std::abs(b[h]))) return false;
  }
  return true;
}

bool same_in_another_order(std::vector<double> a, std::vector<double> b) {
  if (a.size() != b.size() || near(a, b)) return false;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return near(a, b);
}

}  // namespace

List alibi_suppositions(const PosencCase& c) {
  List list;
  const std::vector<double> right = right_alibi(c).slopes;
  const double heads = static_cast<double>(c.alibi.heads);
  const auto formula = [&](const char* detail, const std::function<double(double)>& slope) {
    std::vector<double> slopes;
    for (Index h = 0; h < c.alibi.heads; ++h) slopes.push_back(slope(static_cast<double>(h)));
    list.push_back({"alibi-slopes", detail, [slopes](Made& m) { m.slopes = slopes; }});
  };
  formula("one geometric series 2^(-8h/heads), for heads that are no power of two",
          [&](double h) { return std::exp2(-8 * (h + 1) / heads); });
  formula("2^(-8h/heads) from h = 0", [&](double h) { return std::exp2(-8 * h / heads); });
  double above = 1;
  while (above < heads) above *= 2;
  formula("the first slopes of the next larger power of two",
          [&](double h) { return std::exp2(-8 * (h + 1) / above); });
  const std::vector<double> used = used_slopes(c);
  if (same_in_another_order(used, right)) {
    list.insert(list.begin(), {"alibi-order", "the right slopes in another order",
                               [used](Made& m) { m.slopes = used; }});
    return list;
  }
  list.push_back({"alibi-sign", "the bias grows with the distance instead of falling",
                  [](Made& m) { m.sign = 1; }});
  list.push_back({"position-offset", "distances are counted from the first key, not the last",
                  [](Made& m) { m.distance = AlibiDistance::kFromLeft; }});
  list.push_back({"position-offset", "distances are one too large",
                  [](Made& m) { m.distance = AlibiDistance::kShifted; }});
  list.push_back(
      {"alibi-slopes", "slopes by no formula known here", [used](Made& m) { m.slopes = used; }});
  return list;
}

}  // namespace attn
