#include <fmt/core.h>

#include <cmath>
#include <utility>

#include "check/posenc/posenc_suppositions.h"

namespace attn {
namespace {

using Made = RopeMaking;
using List = std::vector<PosencSupposition<Made>>;

RopePairs other(RopePairs pairs) {
  return pairs == RopePairs::kHalves ? RopePairs::kInterleaved : RopePairs::kHalves;
}

void add_pairings(const PosencCase& c, List& list) {
  const RopePairs wrong = other(c.rope.pairs);
  const char* name = wrong == RopePairs::kInterleaved ? "interleaved" : "half split";
  // Tables with a column a feature show how they are laid out, whatever the rotation does.
  const PosencPart* table = c.part("cos") != nullptr ? c.part("cos") : c.part("sin");
  if (table != nullptr && table->values.dim(1) == c.rope.rotary_dim) {
    list.push_back({"rope-mixed-pairing", fmt::format("angles are laid out {}", name),
                    [wrong](Made& m) { m.layout = wrong; }});
  }
  list.push_back({"rope-convention", fmt::format("features are paired {}", name),
                  [wrong](Made& m) { m.layout = m.read = m.written = wrong; }});
  list.push_back({"rope-output-order", fmt::format("results are written {}", name),
                  [wrong](Made& m) { m.written = wrong; }});
  list.push_back({"rope-output-order", fmt::format("pairs are read {}", name),
                  [wrong](Made& m) { m.layout = m.read = wrong; }});
  list.push_back({"rope-mixed-pairing", fmt::format("angles are laid out {}", name),
                  [wrong](Made& m) { m.layout = wrong; }});
  list.push_back({"rope-mixed-pairing", fmt::format("features are paired {}", name),
                  [wrong](Made& m) { m.read = m.written = wrong; }});
  list.push_back({"rotation-sign", "y turns backwards", [](Made& m) { m.turn_sign = -1; }});
  list.push_back(
      {"rotation-sign", "sines have the other sign", [](Made& m) { m.table_sine_sign = -1; }});
}

// What is turned, and by how many features the exponents go.
void add_widths(const PosencCase& c, List& list) {
  const Index rotary = c.rope.rotary_dim;
  const Index head = c.rope.head_dim;
  for (Index width = 2; width <= head; width += 2) {
    if (width == rotary) continue;
    list.push_back({"rotary-dim", fmt::format("{} features turn, not {}", width, rotary),
                    [width](Made& m) { m.rules.rotary_dim = width; }});
    list.push_back({"rotary-dim", fmt::format("{} features turn by exponents of {}", width, rotary),
                    [width, rotary](Made& m) {
                      m.rules.rotary_dim = width;
                      m.exponent_dim = rotary;
                    }});
  }
  if (rotary == head) return;
  list.push_back({"rotary-dim", fmt::format("exponents go by {} features, not {}", head, rotary),
                  [head](Made& m) { m.exponent_dim = head; }});
  list.push_back({"rotary-dim", "the last features of a head turn, not the first",
                  [head, rotary](Made& m) { m.first = head - rotary; }});
  for (const Index exponents : {rotary, head}) {
    list.push_back({"rotary-dim",
                    fmt::format("pairs are {} features apart, not {}", head / 2, rotary / 2),
                    [head, exponents](Made& m) {
                      m.apart = head / 2;
                      m.exponent_dim = exponents;
                    }});
  }
}

constexpr std::initializer_list<double> kThetas = {10000, 500000, 1e6,    100,    1000, 5e6,
                                                   1e5,   150000, 160000, 200000, 1e7};

void add_exponents(const PosencCase& c, List& list) {
  list.push_back({"exponent-doubled", "feature c turns by the exponent 2c/d",
                  [](Made& m) { m.own_angle = true; }});
  list.push_back({"exponent-doubled", "pair i has the exponent of feature 2i",
                  [](Made& m) { m.exponent = [](double i, double d) { return 4 * i / d; }; }});
  for (const NamedExponent& e : other_exponents()) {
    list.push_back({"wrong-exponent", e.detail, [rule = e.rule](Made& m) { m.exponent = rule; }});
  }
  for (const double theta : kThetas) {
    if (theta == c.rope.theta) continue;
    list.push_back({"wrong-exponent", fmt::format("theta {} for {}", theta, c.rope.theta),
                    [theta](Made& m) { m.rules.theta = theta; }});
  }
}

// Least squares of given = factor * truth over one part.
double common_factor(const PosencCase& c, const PosencPart& part) {
  const RopeMaking right = right_rope(c);
  const RopeAngles angles = rope_angles(right);
  const Index width = part.values.dim(-1);
  const Index rows = static_cast<Index>(c.positions.size());
  std::vector<double> turned(static_cast<std::size_t>(c.rope.head_dim));
  double product = 0;
  double square = 0;
  for (Index r = 0; r < part.values.size() / width; ++r) {
    const double p = c.positions[static_cast<std::size_t>(r % rows)];
    const RopeRow row = rope_row(right, angles, p);
    const double* truth = (part.name == "cos" ? row.cos : row.sin).data();
    Index compared = std::min(width, c.rope.rotary_dim / 2);
    if (part.name == "y") {
      rope_turn(right, row, p, c.x->data() + r * width, turned.data());
      truth = turned.data();
      compared = c.rope.rotary_dim;
    }
    for (Index f = 0; f < compared; ++f) {
      const double given = part.values.data()[r * width + f];
      if (!std::isfinite(given)) continue;
      product += given * truth[f];
      square += truth[f] * truth[f];
    }
  }
  return square > 0 ? product / square : 1;
}

void add_factors(const PosencCase& c, List& list) {
  const double right = rope_angles(right_rope(c)).attention_factor;
  for (const PosencPart& part : c.parts) {
    if (part.name == "inv_freq") continue;
    const double factor = common_factor(c, part) * right;
    if (!(factor > 0) || !std::isfinite(factor)) continue;
    constexpr double kSame = 1e-7;
    if (std::abs(factor / right - 1) < kSame) continue;
    list.push_back(
        {"attention-factor",
         fmt::format("cosines and sines are multiplied by {:.6g}, not {:.6g}", factor, right),
         [factor](Made& m) { m.attention_factor = factor; }});
  }
}

}  // namespace

List rope_suppositions(const PosencCase& c) {
  List list;
  add_pairings(c, list);
  add_factors(c, list);
  for (const auto& each : rope_scaling_suppositions(c)) list.push_back(each);
  for (const NamedPositions& p : other_positions(c.positions)) {
    list.push_back(
        {"position-offset", p.detail, [at = p.positions](Made& m) { m.positions = at; }});
  }
  add_widths(c, list);
  add_exponents(c, list);
  for (const NamedRounding& r : phase_roundings()) {
    list.push_back({"low-precision-phase", r.detail,
                    [rounding = r.rounding](Made& m) { m.rounding = rounding; }});
  }
  return list;
}

namespace {

// What the slowest pair of /inv_freq tells, where there is more than one.
void add_slowest_pair(const PosencCase& c, const PosencPart& part, List& list) {
  const Index half = c.rope.rotary_dim / 2;
  const double slowest = part.values.values.back();
  if (half < 2 || part.values.size() != half || !(slowest > 0)) return;
  const double d = static_cast<double>(c.rope.rotary_dim);
  const double theta = std::pow(slowest, -d / (d - 2));
  const RopeScalingKind kind = c.rope.scaling.kind;
  const bool stretches = kind != RopeScalingKind::kNone;
  if (!std::isfinite(theta) || !(theta > 0)) return;
  if (kind == RopeScalingKind::kDynamic) {
    const double s = c.rope.scaling.factor;
    const double original = static_cast<double>(c.rope.scaling.original_max_positions);
    const double stretch = std::pow(theta / c.rope.theta, (d - 2) / d);
    const double length = std::round((stretch + s - 1) * original / s);
    if (length >= 1 && length < 1e12) {
      list.push_back({"wrong-seq-len", fmt::format("length {} for {}", length, c.rope.seq_len),
                      [length](Made& m) {
                        m.rules.seq_len = static_cast<Index>(length);
                        m.dynamic_below = true;
                      }});
    }
  }
  list.push_back({stretches ? "scaling-wrong" : "wrong-exponent",
                  fmt::format("frequencies are those of theta {:.7g}", theta), [theta](Made& m) {
                    m.rules.theta = theta;
                    m.rules.scaling.kind = RopeScalingKind::kNone;
                  }});
  const double plain = std::pow(c.rope.theta, -(d - 2) / d);
  const double factor = plain / slowest;
  list.push_back({"scaling-wrong", fmt::format("all frequencies are divided by {:.7g}", factor),
                  [factor](Made& m) {
                    m.rules.scaling.kind = RopeScalingKind::kLinear;
                    m.rules.scaling.factor = factor;
                  }});
  if (!stretches) return;
  list.push_back({"scaling-wrong",
                  fmt::format("factor {:.7g} for {:.7g}", factor, c.rope.scaling.factor),
                  [factor](Made& m) { m.rules.scaling.factor = factor; }});
}

}  // namespace

List rope_fits(const PosencCase& c) {
  List list;
  if (const PosencPart* part = c.part("inv_freq")) add_slowest_pair(c, *part, list);
  for (const double by : far_shifts()) {
    list.push_back({"position-offset", shift_text(by), [by](Made& m) {
                      for (double& p : m.positions) p += by;
                    }});
  }
  return list;
}

}  // namespace attn
