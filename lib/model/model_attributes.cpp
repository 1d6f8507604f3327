#include "model/model_attributes.h"

namespace attn {

SettingList model_attributes(const ModelConfig& c) {
  require_shape(c.window == 0, "checkpoint: it has no place for a window");
  const auto flag = [](bool value) { return Index{value ? 1 : 0}; };
  SettingList attributes = {
      {"arch", enum_name(c.arch)},
      {"vocab_size", c.vocab_size},
      {"source_vocab_size", c.source_vocab_size},
      {"dim", c.dim},
      {"heads", c.heads},
      {"kv_heads", c.kv_heads},
      {"head_dim", c.head_dim},
      {"depth", c.depth},
      {"encoder_depth", c.encoder_depth},
      {"mlp_hidden", c.mlp_hidden},
      {"norm", enum_name(c.norm)},
      {"final_norm", flag(*c.final_norm)},
      {"norm_type", enum_name(c.norm_type)},
      {"norm_eps", c.norm_eps},
      {"position", enum_name(c.position)},
      {"rope_style", c.position == Position::kRope ? enum_name(c.rope_style) : std::string("none")},
      {"rope_base", c.rope_base},
      {"max_positions", c.max_positions},
      {"activation", enum_name(c.activation)},
      {"tie_embeddings", flag(c.tie_embeddings)},
      {"bias", flag(c.bias)},
      {"norm_bias", flag(c.norm_bias)},
      {"head_bias", flag(c.head_bias)},
      {"seq_len", c.seq_len},
  };
  // Where they say more than `bias`: a file without them is as it was before there were any.
  if (*c.out_bias != c.bias) attributes.emplace_back("out_bias", flag(*c.out_bias));
  if (*c.mlp_bias != c.bias) attributes.emplace_back("mlp_bias", flag(*c.mlp_bias));
  return attributes;
}

}  // namespace attn
