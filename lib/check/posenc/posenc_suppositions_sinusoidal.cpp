#include <fmt/core.h>

#include <cmath>

#include "check/posenc/posenc_suppositions.h"

namespace attn {
namespace {

using List = std::vector<PosencSupposition<SinusoidalMaking>>;
using Made = SinusoidalMaking;

constexpr std::initializer_list<double> kBases = {10000, 1000, 100, 1e5, 1e6, 500000, 5000, 10};

}  // namespace

List sinusoidal_suppositions(const PosencCase& c) {
  List list;
  const std::initializer_list<std::pair<SineOrder, const char*>> orders = {
      {SineOrder::kSinesThenCosines, "all sines, then all cosines"},
      {SineOrder::kSineCosine, "sines and cosines in turn"},
      {SineOrder::kCosineSine, "in turn, the cosine first"},
      {SineOrder::kCosinesThenSines, "all cosines, then all sines"}};
  for (const auto& [order, detail] : orders) {
    if (order == right_sinusoidal(c).order) continue;
    list.push_back({"sin-cos-order", detail, [order = order](Made& m) { m.order = order; }});
  }
  const bool other = !c.sinusoidal.tensor2tensor;
  list.push_back({"wrong-variant",
                  other ? "exponents i/(half - 1), those of tensor2tensor" : "exponents 2i/dim",
                  [other](Made& m) { m.rules.tensor2tensor = other; }});
  for (const bool by_pair : {true, false}) {
    list.push_back({"exponent-doubled", "column c has the exponent 2c/dim", [by_pair](Made& m) {
                      m.own_exponent = 2;
                      if (by_pair) m.rules.tensor2tensor = false;
                    }});
  }
  list.push_back({"wrong-exponent", "column c has an exponent of its own, c/dim",
                  [](Made& m) { m.own_exponent = 1; }});
  for (const NamedExponent& e : other_exponents()) {
    list.push_back({"wrong-exponent", e.detail, [rule = e.rule](Made& m) { m.exponent = rule; }});
  }
  for (const double base : kBases) {
    if (base == c.sinusoidal.base) continue;
    list.push_back({"wrong-exponent", fmt::format("base {} for {}", base, c.sinusoidal.base),
                    [base](Made& m) { m.rules.base = base; }});
  }
  for (const NamedPositions& p : other_positions(c.positions)) {
    list.push_back(
        {"position-offset", p.detail, [at = p.positions](Made& m) { m.positions = at; }});
  }
  list.push_back({"rotation-sign", "sines have the other sign", [](Made& m) { m.sine_sign = -1; }});
  for (const NamedRounding& r : phase_roundings()) {
    list.push_back({"low-precision-phase", r.detail,
                    [rounding = r.rounding](Made& m) { m.rounding = rounding; }});
  }
  return list;
}

List sinusoidal_fits() {
  List list;
  for (const double by : far_shifts()) {
    list.push_back({"position-offset", shift_text(by), [by](Made& m) {
                      for (double& p : m.positions) p += by;
                    }});
  }
  return list;
}

}  // namespace attn
