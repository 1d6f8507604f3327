#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "ops/positions.h"
#include "ops/rope_scaling.h"

namespace attn {

/// The rotary positions that a Hugging Face config.json describes.
struct RopeConfig {
  double theta = 10000;
  bool theta_given = false;  ///< false: the file is silent, 10000 is what most classes take then
  Index head_dim = 0;        ///< of multi-head latent attention, its rotated part
  Index rotary_dim = 0;      ///< even, at most head_dim
  Index max_positions = 0;   ///< max_position_embeddings; 0 where the file is silent
  RopePairs pairs = RopePairs::kHalves;  ///< as that model's code in the transformers library does
  RopeScaling scaling;
};

/// Reads `rope_theta`, `rope_scaling` or `rope_parameters` (`type` or `rope_type`), `head_dim` or
/// what gives it, `partial_rotary_factor`, `rotary_pct` or `rotary_dim`, as the transformers
/// library's modeling_rope_utils does; a model inside (`text_config`) is found. Where layers have
/// rope of several kinds, `layer_type` chooses one by its name ("full_attention"). `name` is what
/// messages call the file. DataError for what is missing, contradicts itself or is not known; and
/// where a layer type is needed, or is not one of the file's.
RopeConfig rope_config(const nlohmann::json& config, const std::string& name,
                       const std::string& layer_type = "");

/// The same from a file's text.
RopeConfig parse_rope_config(std::string_view text, const std::string& name,
                             const std::string& layer_type = "");

}  // namespace attn
