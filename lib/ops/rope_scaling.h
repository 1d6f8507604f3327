#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/index.h"

namespace attn {

/// How a model's rotary frequencies were stretched to reach beyond the length it was trained at.
enum class RopeScalingKind { kNone, kLinear, kNtk, kDynamic, kYarn, kLlama3, kLongrope };

/// A stretch and its parameters; each kind reads only those that are named for it.
struct RopeScaling {
  RopeScalingKind kind = RopeScalingKind::kNone;
  double factor = 1;  ///< s: how many times longer; all but none
  Index original_max_positions =
      0;                  ///< orig, the length of training: dynamic, yarn, llama3, longrope
  double beta_fast = 32;  ///< yarn: rotations within orig from which on nothing changes
  double beta_slow = 1;   ///< yarn: rotations up to which all is divided by s
  bool truncate = true;   ///< yarn: the ramp's ends are rounded to whole pairs
  std::optional<double> attention_factor = {};  ///< yarn, longrope: instead of the derived one
  std::optional<double> mscale = {}, mscale_all_dim = {};   ///< yarn: both, or neither counts
  double low_freq_factor = 1, high_freq_factor = 4;         ///< llama3
  std::vector<double> long_factor = {}, short_factor = {};  ///< longrope: rotary_dim / 2 each

  bool operator==(const RopeScaling&) const = default;
};

/// What the angles are made of: position p turns pair i by p * inv_freq[i], and both the cosine and
/// the sine are multiplied by the attention factor.
struct RopeFrequencies {
  std::vector<double> inv_freq;  ///< (rotary_dim / 2)
  double attention_factor = 1;
};

/// f_i = theta^(-2i / rotary_dim) (Su et al. 2021, arXiv:2104.09864), stretched:
/// linear   f / s (Chen et al. 2023, arXiv:2306.15595);
/// ntk      theta * s^(d / (d - 2)) in theta's place;
/// dynamic  the same with s * L / orig - (s - 1) for s, L = max(seq_len, orig);
/// yarn     f / s for slow pairs, f for fast ones, a ramp between; attention factor 0.1 ln s + 1
///          (Peng et al. 2023, arXiv:2309.00071);
/// llama3   f where 2 pi / f < orig / high, f / s where it is > orig / low, a blend between
///          (Llama 3.1);
/// longrope f / long_factor where seq_len > orig, else f / short_factor; attention factor
///          sqrt(1 + ln s / ln orig) (Ding et al. 2024, arXiv:2402.13753).
/// seq_len matters to dynamic and longrope only; 0 is a sequence within orig. ShapeError for an odd
/// rotary_dim and for parameters in which rope_scaling_fault finds one.
RopeFrequencies rope_frequencies(Index rotary_dim, double theta, const RopeScaling& scaling,
                                 Index seq_len);

/// The longest sequence whose frequencies are those of every shorter one too, so that keys that a
/// cache holds stay right as the sequence grows: orig for dynamic and longrope; nothing for the
/// others, which have no bound.
std::optional<Index> rope_scaling_limit(const RopeScaling& scaling);

/// Why these parameters give no frequencies ("yarn needs original_max_position_embeddings"), in
/// the words of a configuration; nothing where they do.
std::optional<std::string> rope_scaling_fault(Index rotary_dim, double theta,
                                              const RopeScaling& scaling);

/// "none", "linear", "ntk", "dynamic", "yarn", "llama3", "longrope".
std::string_view rope_scaling_name(RopeScalingKind kind);
/// The kind of that name; nothing for any other word.
std::optional<RopeScalingKind> rope_scaling_kind(std::string_view name);

}  // namespace attn
