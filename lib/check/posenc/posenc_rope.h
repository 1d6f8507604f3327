#pragma once

#include <optional>
#include <vector>

#include "check/posenc/posenc_case.h"
#include "check/posenc/posenc_phase.h"

namespace attn {

/// What somebody may make of Llama 3's blend between kept and stretched frequencies.
enum class Blend { kRight, kKept, kStretched, kReversed, kByWavelength };

/// How rotary tables and a rotation were made; the defaults are right.
struct RopeMaking {
  RopeRules rules;
  std::vector<double> positions;

  // Frequencies.
  ExponentRule exponent;
  Index exponent_dim = 0;           ///< in rotary_dim's place, where not 0
  std::optional<double> ntk_power;  ///< in d / (d - 2)'s place
  bool dynamic_below = false;       ///< dynamic: stretched within the trained length too
  bool yarn_ramp_reversed = false;
  bool yarn_clamped_to_pairs = false;  ///< the ramp's end at most half - 1 and not rotary_dim - 1
  Blend blend = Blend::kRight;
  std::optional<double> attention_factor;  ///< in the derived one's place
  PhaseRounding rounding;

  // Rotation.
  double table_sine_sign = 1;  ///< of /sin, and of y with it
  double turn_sign = 1;        ///< of y alone
  RopePairs layout =
      RopePairs::kHalves;               ///< which angle a feature turns by, of y and of full tables
  RopePairs read = RopePairs::kHalves;  ///< which features are paired
  RopePairs written = RopePairs::kHalves;  ///< where the results go
  Index apart = 0;         ///< half split: from one of a pair to the other; 0: rotary_dim / 2
  Index first = 0;         ///< the first feature that turns
  bool own_angle = false;  ///< y: feature c turns by theta^(-2c/rotary_dim)
};

/// Tables and rotation as the rules want them.
RopeMaking right_rope(const PosencCase& c);

/// Frequencies and attention factor, in double, by formulas of their own.
struct RopeAngles {
  std::vector<double> inv_freq;
  double attention_factor = 1;
};
RopeAngles rope_angles(const RopeMaking& made);

/// cos and sin of a position: (rotary_dim / 2) each, factor included.
struct RopeRow {
  std::vector<double> cos, sin;
};
RopeRow rope_row(const RopeMaking& made, const RopeAngles& angles, double position);

/// Which of the rotary_dim / 2 angles feature c turns by.
Index angle_of(RopePairs layout, Index c, Index half);

/// One head's features at a position, rotated: from x to y, head_dim each.
void rope_turn(const RopeMaking& made, const RopeRow& row, double position, const double* x,
               double* y);

}  // namespace attn
