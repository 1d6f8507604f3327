#include "check/posenc/posenc_attributes.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "check/posenc/check_posenc.h"
#include "core/error.h"
#include "core/text.h"

namespace attn {

std::optional<Index> PosencAttributes::given_count(const std::string& name) const {
  const auto value = file_.int_attribute("/", name);
  constexpr Index kMost = Index{1} << 40;
  if (value && (*value < 1 || *value > kMost)) {
    throw DataError(
        fmt::format("{}: attribute '{}' must be 1 or more, it is {}", file_.name(), name, *value));
  }
  return value;
}

Index PosencAttributes::count(const std::string& name, Index fallback) {
  if (const auto value = given_count(name)) return *value;
  assume(name, fmt::format("{}", fallback));
  return fallback;
}

std::optional<double> PosencAttributes::given_positive(const std::string& name) const {
  const auto value = file_.real_attribute("/", name);
  if (value && !(std::isfinite(*value) && *value > 0)) {
    throw DataError(
        fmt::format("{}: attribute '{}' must be above 0, it is {}", file_.name(), name, *value));
  }
  return value;
}

double PosencAttributes::positive(const std::string& name, double fallback) {
  if (const auto value = given_positive(name)) return *value;
  assume(name, fmt::format("{}", fallback));
  return fallback;
}

bool PosencAttributes::flag(const std::string& name, bool fallback) {
  const auto value = file_.int_attribute("/", name);
  if (value && *value != 0 && *value != 1) {
    throw DataError(
        fmt::format("{}: attribute '{}' must be 0 or 1, it is {}", file_.name(), name, *value));
  }
  if (value) return *value == 1;
  assume(name, fallback ? "1" : "0");
  return fallback;
}

std::size_t PosencAttributes::word(const std::string& name,
                                   std::initializer_list<const char*> words) {
  const std::vector<const char*> known(words);
  const auto value = file_.text_attribute("/", name);
  if (!value) {
    assume(name, known.front());
    return 0;
  }
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (*value == known[i]) return i;
  }
  throw DataError(fmt::format("{}: attribute '{}' is '{}', none of {}", file_.name(), name,
                              escaped(*value), fmt::join(known, ", ")));
}

void PosencAttributes::assume(const std::string& name, const std::string& value) {
  noted_.assumed.push_back(fmt::format("{}: {}", name, value));
}

namespace {

// A parameter that the file leaves out, and how to set it.
struct Missing {
  std::string name;
  double fallback;
  std::vector<double> usual;
  std::function<void(RopeRules&, double)> set;
};

constexpr std::initializer_list<double> kThetas = {10000,  500000, 1e6,    100,    1000,  5e6,
                                                   100000, 150000, 160000, 200000, 25000, 1e7};
constexpr std::initializer_list<double> kFactors = {8,  2,  4,  16, 32, 3,   1.5, 2.5, 6,
                                                    10, 40, 64, 5,  12, 128, 20,  24};

std::vector<double> lengths() {
  std::vector<double> all = {8192};
  for (Index length = 64; length <= (Index{1} << 21); length *= 2) {
    all.push_back(static_cast<double>(length));
  }
  all.push_back(100);
  all.push_back(1000);
  return all;
}

// Lengths of a sequence that these tables may have been made for.
std::vector<double> sequence_lengths(const PosencCase& c) {
  const double last = *std::max_element(c.positions.begin(), c.positions.end());
  std::vector<double> all = {last + 1};
  const double original = static_cast<double>(c.rope.scaling.original_max_positions);
  for (const double times : {0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0}) {
    all.push_back(times * original);
  }
  all.push_back(original + 1);
  // Under dynamic scaling the slowest pair tells it.
  const PosencPart* part = c.part("inv_freq");
  const Index half = c.rope.rotary_dim / 2;
  if (part != nullptr && half > 1 && part->values.size() == half &&
      c.rope.scaling.kind == RopeScalingKind::kDynamic) {
    const double d = static_cast<double>(c.rope.rotary_dim);
    const double base = std::pow(part->values.values.back(), -d / (d - 2));
    const double stretch = std::pow(base / c.rope.theta, (d - 2) / d);
    const double s = c.rope.scaling.factor;
    all.push_back(std::round((stretch + s - 1) * original / s));
  }
  return all;
}

// Sets what is missing to its default; where the tables then fail and fit with one of the usual
// values, to that.
void settle(const std::vector<Missing>& missing, PosencAttributes& attributes, PosencCase& c) {
  for (const Missing& each : missing) each.set(c.rope, each.fallback);
  std::vector<double> taken;
  taken.reserve(missing.size());
  for (const Missing& each : missing) taken.push_back(each.fallback);
  const auto fits = [&c] {
    return !rope_scaling_fault(c.rope.rotary_dim, c.rope.theta, c.rope.scaling) && posenc_passes(c);
  };
  bool settled = missing.empty() || fits();
  for (std::size_t m = 0; m < missing.size() && !settled; ++m) {
    for (const double value : missing[m].usual) {
      missing[m].set(c.rope, value);
      settled = fits();
      if (settled) {
        taken[m] = value;
        break;
      }
    }
    if (!settled) missing[m].set(c.rope, missing[m].fallback);
  }
  for (std::size_t m = 0; m < missing.size(); ++m) {
    const bool fitted = taken[m] != missing[m].fallback;
    attributes.assume(missing[m].name,
                      fmt::format("{}{}", taken[m], fitted ? ", which the tables fit" : ""));
  }
}

}  // namespace

namespace {

// The kind of scaling, or that to which the parameters that are there belong.
RopeScalingKind scaling_kind(const Hdf5Reader& file, PosencAttributes& attributes) {
  using enum RopeScalingKind;
  const auto has = [&](const char* name) { return file.has_attribute("/", name); };
  if (has("scaling") || !has("factor")) {
    return static_cast<RopeScalingKind>(attributes.word(
        "scaling", {"none", "linear", "ntk", "dynamic", "yarn", "llama3", "longrope"}));
  }
  const RopeScalingKind kind = file.has_dataset("/long_factor")          ? kLongrope
                               : has("low_freq_factor")                  ? kLlama3
                               : has("seq_len")                          ? kDynamic
                               : has("original_max_position_embeddings") ? kYarn
                                                                         : kLinear;
  attributes.assume("scaling",
                    fmt::format("{}, to which the parameters belong", rope_scaling_name(kind)));
  return kind;
}

}  // namespace

void read_rope_scaling(const Hdf5Reader& file, PosencAttributes& attributes, PosencCase& c) {
  using enum RopeScalingKind;
  RopeScaling& s = c.rope.scaling;
  s.kind = scaling_kind(file, attributes);
  std::vector<Missing> missing;
  const auto real = [&](const char* name, double fallback, std::vector<double> usual,
                        std::function<void(RopeRules&, double)> set) {
    if (const auto value = attributes.given_positive(name)) {
      set(c.rope, *value);
    } else {
      missing.push_back({name, fallback, std::move(usual), std::move(set)});
    }
  };
  real("theta", 10000, kThetas, [](RopeRules& r, double value) { r.theta = value; });
  const auto quietly = [&](const char* name, double& field) {
    if (const auto value = attributes.given_positive(name)) field = *value;
  };
  if (s.kind == kNone) return settle(missing, attributes, c);
  if (s.kind != kLongrope) {
    real("factor", 8, kFactors, [](RopeRules& r, double value) { r.scaling.factor = value; });
  } else {
    quietly("factor", s.factor);
  }
  if (s.kind != kLinear && s.kind != kNtk) {
    real("original_max_position_embeddings", 8192, lengths(), [](RopeRules& r, double value) {
      r.scaling.original_max_positions = static_cast<Index>(value);
    });
  }
  if (s.kind == kLlama3) {
    real("low_freq_factor", 1, {}, [](RopeRules& r, double v) { r.scaling.low_freq_factor = v; });
    real("high_freq_factor", 4, {}, [](RopeRules& r, double v) { r.scaling.high_freq_factor = v; });
  }
  if (s.kind == kYarn) {
    quietly("beta_fast", s.beta_fast);
    quietly("beta_slow", s.beta_slow);
    s.truncate = file.int_attribute("/", "truncate").value_or(1) != 0;
    s.mscale = file.real_attribute("/", "mscale");
    s.mscale_all_dim = file.real_attribute("/", "mscale_all_dim");
  }
  if (s.kind == kYarn || s.kind == kLongrope) {
    s.attention_factor = attributes.given_positive("attention_factor");
  }
  if (s.kind == kLongrope) {
    for (const auto& [name, to] :
         {std::pair{"/long_factor", &s.long_factor}, std::pair{"/short_factor", &s.short_factor}}) {
      *to = file.read<double>(name).values;
    }
    if (!file.has_attribute("/", "factor")) {
      // The attention factor comes from it: without it there is none.
      const auto longest = attributes.given_count("max_position_embeddings");
      const auto original = attributes.given_count("original_max_position_embeddings");
      if (longest && original) {
        s.factor = static_cast<double>(*longest) / static_cast<double>(*original);
      } else {
        missing.push_back(
            {"factor", 1, kFactors, [](RopeRules& r, double value) { r.scaling.factor = value; }});
      }
    }
  }
  if (s.kind == kDynamic || s.kind == kLongrope) {
    if (const auto value = attributes.given_count("seq_len")) {
      c.rope.seq_len = *value;
    } else {
      const std::vector<double> usual = sequence_lengths(c);
      missing.push_back({"seq_len", usual.front(), usual, [](RopeRules& r, double length) {
                           r.seq_len = static_cast<Index>(length);
                         }});
    }
  }
  settle(missing, attributes, c);
}

}  // namespace attn
