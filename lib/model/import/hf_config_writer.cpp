#include <nlohmann/json.hpp>

#include "model/import/hf_config.h"

namespace attn {
namespace {

nlohmann::ordered_json rope_json(const RopeScaling& s) {
  nlohmann::ordered_json rope;
  rope["rope_type"] = rope_scaling_name(s.kind);
  rope["factor"] = s.factor;
  rope["original_max_position_embeddings"] = s.original_max_positions;
  if (s.kind == RopeScalingKind::kLlama3) {
    rope["low_freq_factor"] = s.low_freq_factor;
    rope["high_freq_factor"] = s.high_freq_factor;
  }
  if (s.kind == RopeScalingKind::kYarn) {
    rope["beta_fast"] = s.beta_fast;
    rope["beta_slow"] = s.beta_slow;
    rope["truncate"] = s.truncate;
    if (s.mscale) rope["mscale"] = *s.mscale;
    if (s.mscale_all_dim) rope["mscale_all_dim"] = *s.mscale_all_dim;
  }
  if (s.attention_factor) rope["attention_factor"] = *s.attention_factor;
  if (s.kind == RopeScalingKind::kLongrope) {
    rope["long_factor"] = s.long_factor;
    rope["short_factor"] = s.short_factor;
  }
  return rope;
}

}  // namespace

std::string write_hf_config(const HfFamily& family, const ModelConfig& c,
                            const SpecialTokens& specials, std::string_view dtype) {
  nlohmann::ordered_json out;
  out["model_type"] = family.model_type;
  out["architectures"] = {family.architecture};
  const bool rope = family.position == Position::kRope;
  constexpr Index kUsualLength = 2048;  // of a model that nobody says one of
  for (const HfCount& count : family.counts) {
    Index value = c.*count.field;
    if (value == 0 && count.field == &ModelConfig::seq_len) value = kUsualLength;
    out[count.key] = value;
  }
  out[family.eps_key] = c.norm_eps;
  for (const HfActivation& one : family.activations) {
    if (one.activation == c.activation && !out.contains(family.activation_key)) {
      out[family.activation_key] = one.word;
    }
  }
  if (family.biases == HfBiases::kByKeys) {
    out["attention_bias"] = c.bias;
    out["mlp_bias"] = *c.mlp_bias;
  }
  if (rope) {
    out["rope_theta"] = c.rope_base;
    if (c.rope_scaling.kind != RopeScalingKind::kNone) {
      out["rope_scaling"] = rope_json(c.rope_scaling);
    } else {
      out["rope_scaling"] = nullptr;
    }
    out["attention_dropout"] = 0.0;
  } else {
    // Its class fills these in with 0.1 where a file is silent.
    for (const char* key : {"attn_pdrop", "embd_pdrop", "resid_pdrop"}) out[key] = 0.0;
  }
  for (const HfFixed& fixed : family.fixed) out[fixed.key] = fixed.value;
  out["tie_word_embeddings"] = c.tie_embeddings;
  const auto id = [](const std::optional<Index>& token) {
    return token ? nlohmann::ordered_json(*token) : nlohmann::ordered_json(nullptr);
  };
  out["bos_token_id"] = id(specials.bos);
  out["eos_token_id"] = id(specials.eos);
  out["pad_token_id"] = id(specials.pad);
  out["torch_dtype"] = dtype;
  return out.dump(2) + "\n";
}

}  // namespace attn
