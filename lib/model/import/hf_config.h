#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/import/hf_family.h"
#include "text/special_tokens.h"

namespace attn {

/// What a config.json of a known family says.
struct HfConfig {
  const HfFamily* family = nullptr;
  ModelConfig model;         ///< completed but for tie_embeddings, which the weights decide
  std::optional<bool> tied;  ///< tie_word_embeddings, where it says so
  SpecialTokens specials;    ///< eos and pad; of several ends the first
  std::optional<Index> bos;  ///< bos_token_id; whether it begins prompts is the tokenizer's to say
  std::vector<Index> ends;   ///< eos_token_id, all of them
  std::vector<std::string> unknown;  ///< keys that nobody here knows, and that look harmless
};

/// Reads the text of a config.json; `name` is what messages call it. DataErrors name the key: for
/// a value that is missing or impossible, a family, activation or rope scaling that is not known,
/// and a key that changes the mathematics in a way that is not built here. A key that is not known
/// at all is refused where its name speaks of the model's parts and it is not off (null, false, 0,
/// empty).
HfConfig read_hf_config(std::string_view text, const std::string& name);

/// Puts what generation_config.json says of special tokens over what config.json says.
void read_generation_config(std::string_view text, const std::string& name, HfConfig& config);

/// The config.json of a model in its family's form, whose weights are stored as `dtype`
/// ("float32").
std::string write_hf_config(const HfFamily& family, const ModelConfig& config,
                            const SpecialTokens& specials, std::string_view dtype);

}  // namespace attn
