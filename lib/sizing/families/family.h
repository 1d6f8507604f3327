#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sizing/cache_spec.h"
#include "sizing/config_reader.h"

// How families of models say what they cache. One small file beside this one for each group of
// families; each ends in a table of model_types. A new family is one line in such a table where a
// rule of its group fits, else a function in front of it.
//
// Unless a file says otherwise, defaults are those of the classes in huggingface/transformers,
// src/transformers/models/*/configuration_*.py.

namespace attn {

/// What a configuration class fills in where the file is silent.
struct ClassDefaults {
  std::string_view name = "";  ///< "LlamaConfig"
  Index layers = 0;            ///< 0: none is known, a silent file is refused
  Index heads = 0;
  Index width = 0;
  Index kv_heads = 0;  ///< 0: one for each head
  Index head_dim = 0;  ///< 0: width / heads
  Index window = 0;    ///< 0: no window
};

/// No default: the file must say it.
inline constexpr Index kMustSay = -1;

/// One model_type and how its configuration is read.
struct Family {
  std::string_view model_type;
  ClassDefaults defaults;
  CacheSpec (*resolve)(ConfigReader& config, const Family& family) = nullptr;
};

/// Sizes that all layers share, under any of their names.
struct Sizes {
  Index layers = 0;
  Index heads = 0;
  Index kv_heads = 0;
  Index head_dim = 0;
};
Index read_layers(ConfigReader& config, const Family& family);
Index read_heads(ConfigReader& config, const Family& family);
Index read_width(ConfigReader& config, const Family& family);
/// Stated, or width / heads; a null means width / heads whatever the class says.
Index read_head_dim(ConfigReader& config, const Family& family, Index heads);
Sizes read_sizes(ConfigReader& config, const Family& family);

inline LayerCache full_layer(const Sizes& sizes) {
  return full_layer(sizes.kv_heads, sizes.head_dim, sizes.head_dim);
}
inline LayerCache window_layer(const Sizes& sizes, Index window) {
  return window_layer(sizes.kv_heads, sizes.head_dim, sizes.head_dim, window);
}

/// All layers attend to all tokens.
CacheSpec all_full(const Sizes& sizes);

/// The window, or the class's; 0 where there is none (a null says so whatever the class does).
Index read_window(ConfigReader& config, const Family& family);

/// One word for each layer, of as many layers as there are; nothing where the file has no such key.
std::optional<std::vector<std::string>> read_layer_words(ConfigReader& config, const char* key,
                                                         Index layers);

/// 1 for each layer with rope, 0 for each without: `no_rope_layers`, else every
/// `no_rope_layer_interval`-th is without, a number that messages call `distance`.
std::vector<Index> read_rope_layers(ConfigReader& config, const Family& family, Index layers,
                                    const char* distance);

/// What a word says a layer is, where it is not one of the plain ones; null if it is unknown.
using OtherLayer = std::function<std::optional<LayerCache>(const std::string& word)>;

/// The layers by their words: full_attention, sliding_attention (the last `window` tokens; 0 is a
/// complaint), chunked_attention.
CacheSpec layers_by_words(ConfigReader& config, const std::vector<std::string>& words,
                          const Sizes& sizes, Index window, const OtherLayer& other = nullptr);

/// layer_types where the file has them, else every n-th layer full and the others over the window,
/// or all full where there is no window.
CacheSpec every_nth_full(ConfigReader& config, const Family& family, Index n);

/// Plain attention over all tokens, by layer_types where the file has them, and by lists of
/// key-value heads.
CacheSpec plain_rule(ConfigReader& config, const Family& family);

std::span<const Family> plain_families();
std::span<const Family> head_rule_families();
std::span<const Family> window_families();
std::span<const Family> own_window_families();
std::span<const Family> latent_families();
std::span<const Family> hybrid_families();
std::span<const Family> linear_attention_families();
std::span<const Family> recurrent_families();
std::span<const Family> sharing_families();
std::span<const Family> encoder_decoder_families();

/// The family of a model_type, or null.
const Family* find_family(std::string_view model_type);
/// All model_types, in order.
std::vector<std::string> family_names();

/// What the language model inside a model that sees or hears is, where it does not say so itself:
/// "gemma3" has a "gemma3_text". Empty where that is not known.
std::string_view inner_model_type(std::string_view wrapper);

/// Latent attention's row, with what it stands for where the file says that.
LayerCache latent_layer(ConfigReader& config, const Family& family);

/// Cross-attention beside each layer's own: as wide as the layer's heads; `positions` is 0 where
/// the length of the encoder is asked for.
CacheSpec with_cross_attention(CacheSpec spec, Index positions);

}  // namespace attn
