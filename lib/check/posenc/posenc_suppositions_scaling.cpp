#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "check/posenc/posenc_suppositions.h"

namespace attn {
namespace {

using Made = RopeMaking;
using List = std::vector<PosencSupposition<Made>>;
using enum RopeScalingKind;

void add_ignored(List& list) {
  list.push_back({"scaling-ignored", "plain frequencies", [](Made& m) { m.rules.scaling = {}; }});
  list.push_back({"scaling-ignored", "plain frequencies, with the attention factor", [](Made& m) {
                    m.attention_factor = rope_angles(m).attention_factor;
                    m.rules.scaling = {};
                  }});
}

// Lengths that are taken for the sequence's by mistake.
std::vector<Index> other_lengths(const PosencCase& c) {
  const Index original = c.rope.scaling.original_max_positions;
  const double last = *std::max_element(c.positions.begin(), c.positions.end());
  std::vector<Index> all = {original, static_cast<Index>(last) + 1, static_cast<Index>(last),
                            static_cast<Index>(c.positions.size())};
  if (c.x && c.x->rank() > 2) all.push_back(c.x->dim(-3));  // heads
  for (const double times : {2.0, 4.0, 8.0, 0.5, 1.5, c.rope.scaling.factor}) {
    all.push_back(static_cast<Index>(times * static_cast<double>(original)));
    all.push_back(static_cast<Index>(times * static_cast<double>(c.rope.seq_len)));
  }
  for (const Index by : {1, -1}) all.push_back(c.rope.seq_len + by);
  return all;
}

void add_lengths(const PosencCase& c, List& list) {
  if (c.rope.scaling.kind == kLongrope) {
    const bool beyond = c.rope.seq_len > c.rope.scaling.original_max_positions;
    list.push_back(
        {"wrong-seq-len",
         beyond ? "the short factors for the long ones" : "the long factors for the short ones",
         [beyond](Made& m) {
           m.rules.seq_len = m.rules.scaling.original_max_positions + (beyond ? 0 : 1);
         }});
    return;
  }
  for (const Index length : other_lengths(c)) {
    if (length < 1 || length == c.rope.seq_len) continue;
    list.push_back({"wrong-seq-len", fmt::format("length {} for {}", length, c.rope.seq_len),
                    [length](Made& m) { m.rules.seq_len = length; }});
  }
  for (const char* name : {"scaling-wrong", "wrong-seq-len"}) {
    list.push_back(
        {name, "stretched below the trained length too", [](Made& m) { m.dynamic_below = true; }});
  }
}

void add_other_kinds(const PosencCase& c, List& list) {
  const RopeScaling& s = c.rope.scaling;
  for (const RopeScalingKind kind : {kLinear, kNtk, kDynamic, kYarn, kLlama3}) {
    if (kind == s.kind) continue;
    if (kind != kLinear && kind != kNtk && s.original_max_positions < 1) continue;
    // Within the trained length dynamic scaling is none.
    if (kind == kDynamic && (s.factor < 1 || c.rope.seq_len <= s.original_max_positions)) continue;
    // A stretch without an attention factor of its own may keep the one that was asked for.
    for (const bool keep : {false, true}) {
      list.push_back({"scaling-wrong",
                      fmt::format("scaled {}{}", rope_scaling_name(kind),
                                  keep ? ", with the attention factor" : ""),
                      [kind, keep](Made& m) {
                        if (keep) m.attention_factor = rope_angles(m).attention_factor;
                        m.rules.scaling.kind = kind;
                      }});
    }
  }
}

void add_factors(const PosencCase& c, List& list) {
  const double s = c.rope.scaling.factor;
  for (const double factor : {1 / s, s * s, std::sqrt(s), 2 * s, s / 2, s + 1, s - 1}) {
    // A factor of 1 is a scaling ignored.
    if (!(factor > 0) || factor == s || factor == 1) continue;
    for (const bool keep : {false, true}) {
      list.push_back({"scaling-wrong", fmt::format("factor {:.6g} for {:.6g}", factor, s),
                      [factor, keep](Made& m) {
                        if (keep) m.attention_factor = rope_angles(m).attention_factor;
                        m.rules.scaling.factor = factor;
                      }});
    }
  }
  const RopeScaling& scaling = c.rope.scaling;
  if (scaling.original_max_positions < 1 || scaling.kind == kLongrope) return;
  const double original = static_cast<double>(scaling.original_max_positions);
  for (const double length :
       {8192.0, 2048.0, 4096.0, 32768.0, original * s, original / s, original / 2, original * 2}) {
    if (length < 1 || length == original) continue;
    list.push_back({"scaling-wrong", fmt::format("trained length {} for {}", length, original),
                    [length](Made& m) {
                      m.rules.scaling.original_max_positions = static_cast<Index>(length);
                    }});
  }
}

void add_ntk(List& list) {
  const auto power = [&](const char* detail, auto rule) {
    list.push_back({"scaling-wrong", detail, [rule](Made& m) {
                      m.ntk_power = rule(static_cast<double>(m.rules.rotary_dim));
                    }});
  };
  power("theta is multiplied by the stretch itself", [](double) { return 1.0; });
  power("theta * s^((d - 2)/d)", [](double d) { return (d - 2) / d; });
  power("theta * s^(d/(d - 1))", [](double d) { return d / (d - 1); });
  power("theta * s^(d/2/(d/2 - 2))", [](double d) { return d > 4 ? d / (d - 4) : 1.0; });
}

void add_yarn(const PosencCase& c, List& list) {
  const auto twist = [&](const std::string& detail, std::function<void(Made&)> apply) {
    list.push_back({"scaling-wrong", detail, std::move(apply)});
  };
  twist(c.rope.scaling.truncate ? "the ramp's ends are not rounded" : "the ramp's ends are rounded",
        [](Made& m) { m.rules.scaling.truncate = !m.rules.scaling.truncate; });
  twist("the ramp runs the other way", [](Made& m) { m.yarn_ramp_reversed = true; });
  twist("the ramp ends at the last pair", [](Made& m) { m.yarn_clamped_to_pairs = true; });
  twist("beta_fast and beta_slow change places",
        [](Made& m) { std::swap(m.rules.scaling.beta_fast, m.rules.scaling.beta_slow); });
  const auto betas = [&](double fast, double slow, const std::string& detail) {
    twist(detail, [fast, slow](Made& m) {
      m.rules.scaling.beta_fast = fast;
      m.rules.scaling.beta_slow = slow;
    });
  };
  betas(32, 1, "beta_fast 32 and beta_slow 1, whatever was given");
  const RopeScaling& s = c.rope.scaling;
  for (const double times : {0.5, 2.0, 0.25, 4.0}) {
    betas(times * s.beta_fast, s.beta_slow,
          fmt::format("beta_fast {:.6g} for {:.6g}", times * s.beta_fast, s.beta_fast));
    betas(s.beta_fast, times * s.beta_slow,
          fmt::format("beta_slow {:.6g} for {:.6g}", times * s.beta_slow, s.beta_slow));
  }
}

void add_llama3(List& list) {
  const std::initializer_list<std::pair<Blend, const char*>> blends = {
      {Blend::kKept, "waves between the two lengths are kept"},
      {Blend::kStretched, "waves between the two lengths are stretched in full"},
      {Blend::kReversed, "the blend runs the other way"},
      {Blend::kByWavelength, "the blend goes by wavelength, not by frequency"}};
  for (const auto& [blend, detail] : blends) {
    list.push_back({"llama3-smooth", detail, [blend = blend](Made& m) { m.blend = blend; }});
  }
  list.push_back({"scaling-wrong", "low and high frequency factors change places", [](Made& m) {
                    std::swap(m.rules.scaling.low_freq_factor, m.rules.scaling.high_freq_factor);
                  }});
  const std::initializer_list<std::pair<double, double>> ends = {{1, 4}, {1, 8}, {2, 4}, {1, 2},
                                                                 {1, 1}, {4, 4}, {2, 8}};
  for (const auto& [low, high] : ends) {
    list.push_back({"scaling-wrong",
                    fmt::format("low and high frequency factors {} and {}", low, high),
                    [low = low, high = high](Made& m) {
                      m.rules.scaling.low_freq_factor = low;
                      m.rules.scaling.high_freq_factor = high;
                    }});
  }
}

}  // namespace

List rope_scaling_suppositions(const PosencCase& c) {
  List list;
  const RopeScalingKind kind = c.rope.scaling.kind;
  if (kind == kNone) return list;
  add_ignored(list);
  if (kind == kLlama3) add_llama3(list);
  if (kind == kDynamic || kind == kLongrope) add_lengths(c, list);
  if (kind == kNtk || kind == kDynamic) add_ntk(list);
  if (kind == kYarn) add_yarn(c, list);
  if (kind != kLongrope) add_other_kinds(c, list);
  add_factors(c, list);
  return list;
}

}  // namespace attn
