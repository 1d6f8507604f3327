#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace attn {

/// True of a key of config.json that changes nothing of what a trained model computes: dropout,
/// initialisation, generation settings, names.
bool is_harmless_hf_key(std::string_view key);

/// True of a key whose name speaks of parts of a model, so that a value which is not off cannot be
/// passed over.
bool sounds_like_mathematics(std::string_view key);

/// True of a value that switches nothing on: null, false, 0, empty; and of a list of layer types
/// that are all full attention.
bool is_off(const nlohmann::json& value);

}  // namespace attn
