#include "check/posenc/posenc_rope.h"

#include <algorithm>
#include <cmath>

namespace attn {
namespace {

constexpr double kTwoPi = 6.283185307179586476925286766559;

double unscaled(const RopeMaking& made, double log_base, Index i) {
  const Index width = made.exponent_dim > 0 ? made.exponent_dim : made.rules.rotary_dim;
  const double d = static_cast<double>(width);
  const double pair = static_cast<double>(i);
  const double exponent = made.exponent ? made.exponent(pair, d) : 2 * pair / d;
  return std::exp(-rounded(exponent, made.rounding.to, made.rounding.exponents) * log_base);
}

// ln of the base that stretches the slowest wave `stretch` times and leaves the fastest.
double log_stretched(const RopeMaking& made, double stretch) {
  const double d = static_cast<double>(made.rules.rotary_dim);
  const double plain = std::log(made.rules.theta);
  if (made.rules.rotary_dim == 2 && !made.ntk_power) return plain;
  return plain + made.ntk_power.value_or(d / (d - 2)) * std::log(stretch);
}

double log_base(const RopeMaking& made) {
  const RopeScaling& s = made.rules.scaling;
  if (s.kind == RopeScalingKind::kNtk) return log_stretched(made, s.factor);
  if (s.kind != RopeScalingKind::kDynamic) return std::log(made.rules.theta);
  const double original = static_cast<double>(s.original_max_positions);
  const double seen = static_cast<double>(made.rules.seq_len);
  const double length = made.dynamic_below ? seen : std::max(seen, original);
  return log_stretched(made, 1 + s.factor * (length / original - 1));
}

// 0: the pair turns as ever; 1: all of the stretch.
double yarn_share(const RopeMaking& made, Index i) {
  const RopeScaling& s = made.rules.scaling;
  const double d = static_cast<double>(made.rules.rotary_dim);
  const double original = static_cast<double>(s.original_max_positions);
  // The pair whose wave makes `turns` turns over the trained length.
  const auto pair_of = [&](double turns) {
    return d / 2 * std::log(original / (kTwoPi * turns)) / std::log(made.rules.theta);
  };
  double low = pair_of(s.beta_fast);
  double high = pair_of(s.beta_slow);
  if (s.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(0.0, low);
  high = std::min(made.yarn_clamped_to_pairs ? d / 2 - 1 : d - 1, high);
  const double share =
      std::clamp((static_cast<double>(i) - low) / std::max(0.001, high - low), 0.0, 1.0);
  return made.yarn_ramp_reversed ? 1 - share : share;
}

double llama3_share(const RopeMaking& made, double frequency) {
  const RopeScaling& s = made.rules.scaling;
  const double original = static_cast<double>(s.original_max_positions);
  const double wave = kTwoPi / frequency;
  const double short_wave = original / s.high_freq_factor;
  const double long_wave = original / s.low_freq_factor;
  if (wave < short_wave) return 0;
  if (wave > long_wave) return 1;
  const double kept =
      (original / wave - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
  switch (made.blend) {
    case Blend::kRight:
      return 1 - kept;
    case Blend::kKept:
      return 0;
    case Blend::kStretched:
      return 1;
    case Blend::kReversed:
      return kept;
    case Blend::kByWavelength:
      break;
  }
  return (wave - short_wave) / (long_wave - short_wave);
}

double scaled(const RopeMaking& made, double frequency, Index i) {
  const RopeScaling& s = made.rules.scaling;
  const auto blended = [&](double share) { return frequency * (share / s.factor + (1 - share)); };
  switch (s.kind) {
    case RopeScalingKind::kLinear:
      return blended(1);
    case RopeScalingKind::kYarn:
      return blended(yarn_share(made, i));
    case RopeScalingKind::kLlama3:
      return blended(llama3_share(made, frequency));
    case RopeScalingKind::kLongrope: {
      const bool beyond = made.rules.seq_len > s.original_max_positions;
      const std::vector<double>& by = beyond ? s.long_factor : s.short_factor;
      // A supposition may have more pairs than there are factors.
      const std::size_t at = std::min(static_cast<std::size_t>(i), by.size() - 1);
      return frequency / by[at];
    }
    default:
      return frequency;
  }
}

double attention_factor(const RopeMaking& made) {
  const RopeScaling& s = made.rules.scaling;
  if (made.attention_factor) return *made.attention_factor;
  if (s.kind == RopeScalingKind::kYarn) {
    if (s.attention_factor) return *s.attention_factor;
    const double growth = s.factor > 1 ? 0.1 * std::log(s.factor) : 0;
    const double over = s.mscale.value_or(0);
    const double under = s.mscale_all_dim.value_or(0);
    return over != 0 && under != 0 ? (1 + over * growth) / (1 + under * growth) : 1 + growth;
  }
  if (s.kind == RopeScalingKind::kLongrope) {
    if (s.attention_factor) return *s.attention_factor;
    const double original = static_cast<double>(s.original_max_positions);
    return s.factor > 1 ? std::sqrt(1 + std::log(s.factor) / std::log(original)) : 1;
  }
  return 1;
}

// The two features of pair i.
std::pair<Index, Index> features(const RopeMaking& made, RopePairs pairs, Index i) {
  if (pairs == RopePairs::kInterleaved) return {made.first + 2 * i, made.first + 2 * i + 1};
  const Index apart = made.apart > 0 ? made.apart : made.rules.rotary_dim / 2;
  return {made.first + i, made.first + i + apart};
}

}  // namespace

RopeMaking right_rope(const PosencCase& c) {
  RopeMaking made;
  made.rules = c.rope;
  made.positions = c.positions;
  made.layout = made.read = made.written = c.rope.pairs;
  return made;
}

RopeAngles rope_angles(const RopeMaking& made) {
  RopeAngles angles;
  const double base = log_base(made);
  for (Index i = 0; i < made.rules.rotary_dim / 2; ++i) {
    const double turn = scaled(made, unscaled(made, base, i), i);
    angles.inv_freq.push_back(rounded(turn, made.rounding.to, made.rounding.frequencies));
  }
  angles.attention_factor = attention_factor(made);
  return angles;
}

RopeRow rope_row(const RopeMaking& made, const RopeAngles& angles, double position) {
  const PhaseRounding& r = made.rounding;
  RopeRow row;
  const double p = rounded(position, r.to, r.positions);
  for (const double turn : angles.inv_freq) {
    const double phase = rounded(p * turn, r.to, r.phases);
    row.cos.push_back(rounded(std::cos(phase) * angles.attention_factor, r.to, r.results));
    row.sin.push_back(
        rounded(made.table_sine_sign * std::sin(phase) * angles.attention_factor, r.to, r.results));
  }
  return row;
}

Index angle_of(RopePairs layout, Index c, Index half) {
  return layout == RopePairs::kInterleaved ? c / 2 : c % half;
}

void rope_turn(const RopeMaking& made, const RopeRow& row, double position, const double* x,
               double* y) {
  const Index half = made.rules.rotary_dim / 2;
  std::copy_n(x, made.rules.head_dim, y);
  const double d = static_cast<double>(made.rules.rotary_dim);
  const auto cosine = [&](Index c) {
    if (!made.own_angle) return row.cos[static_cast<std::size_t>(angle_of(made.layout, c, half))];
    return std::cos(position * std::pow(made.rules.theta, -2 * static_cast<double>(c) / d));
  };
  const auto sine = [&](Index c) {
    if (!made.own_angle) return row.sin[static_cast<std::size_t>(angle_of(made.layout, c, half))];
    return std::sin(position * std::pow(made.rules.theta, -2 * static_cast<double>(c) / d));
  };
  for (Index i = 0; i < half; ++i) {
    const auto [one, other] = features(made, made.read, i);
    const auto [to_one, to_other] = features(made, made.written, i);
    // Which angle: by the feature's place among those that turn, the pair's two members for a
    // distance of our own.
    const Index at_one = made.read == RopePairs::kInterleaved ? 2 * i : i;
    const Index at_other = made.read == RopePairs::kInterleaved ? 2 * i + 1 : i + half;
    const double a = x[one];
    const double b = x[other];
    y[to_one] = a * cosine(at_one) - made.turn_sign * b * sine(at_one);
    y[to_other] = b * cosine(at_other) + made.turn_sign * a * sine(at_other);
  }
}

}  // namespace attn
