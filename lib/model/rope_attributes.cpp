#include "model/rope_attributes.h"

#include <fmt/core.h>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

using enum RopeScalingKind;

constexpr const char* kKind = "rope_scaling";
constexpr const char* kOriginal = "rope_original_max_positions";
constexpr const char* kTruncate = "rope_truncate";

// Calls real(name, member), optional(name, member) and list(name, member) for what a kind reads of
// each sort: one table for both directions.
template <class Real, class Optional, class List>
void each_parameter(RopeScalingKind kind, const Real& real, const Optional& optional,
                    const List& list) {
  real("rope_factor", &RopeScaling::factor);
  if (kind == kYarn) {
    real("rope_beta_fast", &RopeScaling::beta_fast);
    real("rope_beta_slow", &RopeScaling::beta_slow);
    optional("rope_mscale", &RopeScaling::mscale);
    optional("rope_mscale_all_dim", &RopeScaling::mscale_all_dim);
  }
  if (kind == kLlama3) {
    real("rope_low_freq_factor", &RopeScaling::low_freq_factor);
    real("rope_high_freq_factor", &RopeScaling::high_freq_factor);
  }
  if (kind == kYarn || kind == kLongrope) {
    optional("rope_attention_factor", &RopeScaling::attention_factor);
  }
  if (kind == kLongrope) {
    list("rope_long_factor", &RopeScaling::long_factor);
    list("rope_short_factor", &RopeScaling::short_factor);
  }
}

}  // namespace

void write_rope_scaling(Hdf5Writer& writer, const ModelConfig& config) {
  const RopeScaling& s = config.rope_scaling;
  if (config.position != Position::kRope || s.kind == kNone) return;
  writer.attribute("/", kKind, rope_scaling_name(s.kind));
  writer.attribute("/", kOriginal, s.original_max_positions);
  if (s.kind == kYarn) writer.attribute("/", kTruncate, Index{s.truncate ? 1 : 0});
  each_parameter(
      s.kind,
      [&](const char* name, double RopeScaling::*value) { writer.attribute("/", name, s.*value); },
      [&](const char* name, std::optional<double> RopeScaling::*value) {
        if (s.*value) writer.attribute("/", name, *(s.*value));
      },
      [&](const char* name, std::vector<double> RopeScaling::*values) {
        writer.attribute("/", name, std::span<const double>(s.*values));
      });
}

RopeScaling read_rope_scaling(const Hdf5Reader& reader) {
  RopeScaling s;
  const auto name = reader.text_attribute("/", kKind);
  if (!name) return s;
  const auto kind = rope_scaling_kind(*name);
  if (!kind) {
    throw DataError(
        fmt::format("{}: attribute {}: '{}' is not known", reader.name(), kKind, escaped(*name)));
  }
  s.kind = *kind;
  if (s.kind == kNone) return s;
  s.original_max_positions = reader.int_attribute("/", kOriginal).value_or(0);
  if (s.kind == kYarn) s.truncate = reader.int_attribute("/", kTruncate).value_or(1) != 0;
  each_parameter(
      s.kind,
      [&](const char* attribute, double RopeScaling::*value) {
        s.*value = reader.real_attribute("/", attribute).value_or(s.*value);
      },
      [&](const char* attribute, std::optional<double> RopeScaling::*value) {
        s.*value = reader.real_attribute("/", attribute);
      },
      [&](const char* attribute, std::vector<double> RopeScaling::*values) {
        s.*values = reader.real_array_attribute("/", attribute).value_or(std::vector<double>{});
      });
  return s;
}

}  // namespace attn
