#include "ops/rope_scaling.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/matrix.h"

namespace attn {
namespace {

constexpr double kTwoPi = 6.283185307179586476925286766559;
constexpr std::array<std::string_view, 7> kNames = {"none", "linear", "ntk",     "dynamic",
                                                    "yarn", "llama3", "longrope"};

// theta^(-2i/rotary_dim). In these very terms, so that an unscaled model keeps its bits.
std::vector<double> plain(Index rotary_dim, double theta) {
  std::vector<double> inv_freq;
  inv_freq.reserve(static_cast<std::size_t>(rotary_dim / 2));
  for (Index i = 0; i < rotary_dim / 2; ++i) {
    inv_freq.push_back(
        std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(rotary_dim)));
  }
  return inv_freq;
}

// The base under which the slowest pair turns `stretch` times slower and the fastest as before.
double stretched_base(Index rotary_dim, double theta, double stretch) {
  // A single pair is the fastest: no base changes it.
  if (rotary_dim == 2) return theta;
  const double d = static_cast<double>(rotary_dim);
  return theta * std::pow(stretch, d / (d - 2));
}

double yarn_magnitude(double factor, double mscale) {
  return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

double yarn_attention_factor(const RopeScaling& s) {
  if (s.attention_factor) return *s.attention_factor;
  if (s.mscale.value_or(0) != 0 && s.mscale_all_dim.value_or(0) != 0) {
    return yarn_magnitude(s.factor, *s.mscale) / yarn_magnitude(s.factor, *s.mscale_all_dim);
  }
  return yarn_magnitude(s.factor, 1);
}

void scale_yarn(Index rotary_dim, double theta, const RopeScaling& s, std::vector<double>& f) {
  const double d = static_cast<double>(rotary_dim);
  const double length = static_cast<double>(s.original_max_positions);
  const auto pair_that_turns = [&](double rotations) {
    return d * std::log(length / (rotations * kTwoPi)) / (2 * std::log(theta));
  };
  double low = pair_that_turns(s.beta_fast);
  double high = pair_that_turns(s.beta_slow);
  if (s.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  // Bounded by the features and not by the pairs, as everyone has done since the first release.
  high = std::min(high, d - 1);
  constexpr double kLeastWidth = 0.001;  // keeps a ramp without width from dividing by 0
  const double width = std::max(high - low, kLeastWidth);
  for (std::size_t i = 0; i < f.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / width, 0.0, 1.0);
    f[i] = f[i] / s.factor * ramp + f[i] * (1 - ramp);
  }
}

void scale_llama3(const RopeScaling& s, std::vector<double>& f) {
  const double length = static_cast<double>(s.original_max_positions);
  for (double& turn : f) {
    const double wavelength = kTwoPi / turn;
    if (wavelength < length / s.high_freq_factor) continue;
    if (wavelength > length / s.low_freq_factor) {
      turn /= s.factor;
    } else {
      const double keep =
          (length / wavelength - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
      turn = (1 - keep) * turn / s.factor + keep * turn;
    }
  }
}

double longrope_attention_factor(const RopeScaling& s) {
  if (s.attention_factor) return *s.attention_factor;
  if (s.factor <= 1) return 1;
  return std::sqrt(1 +
                   std::log(s.factor) / std::log(static_cast<double>(s.original_max_positions)));
}

// Above 0 and finite: what a divisor or the argument of a logarithm must be.
bool positive(double value) {
  return std::isfinite(value) && value > 0;
}

std::string needs(RopeScalingKind kind, const char* what) {
  return std::string(rope_scaling_name(kind)) + " needs " + what;
}

std::optional<std::string> longrope_fault(std::size_t half, const RopeScaling& s) {
  for (const auto* factors : {&s.long_factor, &s.short_factor}) {
    const std::string name = factors == &s.long_factor ? "long_factor" : "short_factor";
    if (factors->size() != half) {
      return "longrope needs a " + name + " for each of the " + std::to_string(half) +
             " pairs, got " + std::to_string(factors->size());
    }
    if (!std::all_of(factors->begin(), factors->end(), positive)) {
      return "longrope needs a " + name + " above 0 everywhere";
    }
  }
  if (!s.attention_factor && s.factor > 1 && s.original_max_positions < 2) {
    return needs(s.kind, "original_max_position_embeddings of 2 or more");
  }
  return std::nullopt;
}

}  // namespace

std::string_view rope_scaling_name(RopeScalingKind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}

std::optional<RopeScalingKind> rope_scaling_kind(std::string_view name) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<RopeScalingKind>(found - kNames.begin());
}

std::optional<Index> rope_scaling_limit(const RopeScaling& s) {
  if (s.kind == RopeScalingKind::kDynamic || s.kind == RopeScalingKind::kLongrope) {
    return s.original_max_positions;
  }
  return std::nullopt;
}

std::optional<std::string> rope_scaling_fault(Index rotary_dim, double theta,
                                              const RopeScaling& s) {
  using enum RopeScalingKind;
  if (!positive(theta)) return "rope needs a theta above 0";
  if (s.kind == kNone) return std::nullopt;
  if (!positive(s.factor)) return needs(s.kind, "a factor above 0");
  if (s.attention_factor && !positive(*s.attention_factor)) {
    return needs(s.kind, "an attention_factor above 0");
  }
  const bool by_length = s.kind != kLinear && s.kind != kNtk;
  if (by_length && s.original_max_positions < 1) {
    return needs(s.kind, "original_max_position_embeddings");
  }
  // Below 1, a long sequence would make the base negative.
  if (s.kind == kDynamic && s.factor < 1) return needs(s.kind, "a factor of 1 or more");
  if (s.kind == kYarn) {
    if (!positive(s.beta_fast) || !positive(s.beta_slow)) {
      return needs(s.kind, "beta_fast and beta_slow above 0");
    }
    if (theta == 1) return needs(s.kind, "a theta other than 1");
    if (!positive(yarn_attention_factor(s))) {
      return needs(s.kind, "mscale and mscale_all_dim that give a factor above 0");
    }
  }
  if (s.kind == kLlama3) {
    if (!positive(s.low_freq_factor) || !positive(s.high_freq_factor) ||
        s.high_freq_factor <= s.low_freq_factor) {
      return needs(s.kind, "low_freq_factor above 0 and high_freq_factor above that");
    }
  }
  if (s.kind == kLongrope) return longrope_fault(static_cast<std::size_t>(rotary_dim / 2), s);
  return std::nullopt;
}

RopeFrequencies rope_frequencies(Index rotary_dim, double theta, const RopeScaling& s,
                                 Index seq_len) {
  using enum RopeScalingKind;
  require_shape(rotary_dim > 0 && rotary_dim % 2 == 0, "rope: rotary_dim must be even");
  if (const auto fault = rope_scaling_fault(rotary_dim, theta, s)) {
    require_shape(false, "rope: " + *fault);
  }
  const double length = static_cast<double>(std::max(seq_len, s.original_max_positions));
  switch (s.kind) {
    case kNtk:
      return {plain(rotary_dim, stretched_base(rotary_dim, theta, s.factor)), 1};
    case kDynamic: {
      const double stretch =
          s.factor * length / static_cast<double>(s.original_max_positions) - (s.factor - 1);
      return {plain(rotary_dim, stretched_base(rotary_dim, theta, stretch)), 1};
    }
    default:
      break;
  }
  RopeFrequencies made{plain(rotary_dim, theta), 1};
  std::vector<double>& f = made.inv_freq;
  if (s.kind == kLinear) {
    for (double& turn : f) turn /= s.factor;
  } else if (s.kind == kYarn) {
    scale_yarn(rotary_dim, theta, s, f);
    made.attention_factor = yarn_attention_factor(s);
  } else if (s.kind == kLlama3) {
    scale_llama3(s, f);
  } else if (s.kind == kLongrope) {
    const auto& by = seq_len > s.original_max_positions ? s.long_factor : s.short_factor;
    for (std::size_t i = 0; i < f.size(); ++i) f[i] /= by[i];
    made.attention_factor = longrope_attention_factor(s);
  }
  return made;
}

}  // namespace attn
