#pragma once

#include <string>
#include <vector>

#include "core/index.h"

namespace attn {

/// What one layer keeps of each sequence.
struct LayerCache {
  enum class Keeps {
    kAllTokens,   ///< every token
    kLastTokens,  ///< the last `window` tokens
  };
  Keeps keeps = Keeps::kAllTokens;
  Index window = 0;
  Index kv_heads = 1;
  Index key_dim = 0;    ///< numbers of a key, per key-value head
  Index value_dim = 0;  ///< numbers of a value, per key-value head

  /// Entries held when `tokens` have passed.
  Index entries(Index tokens) const {
    return keeps == Keeps::kLastTokens && window < tokens ? window : tokens;
  }
  bool operator==(const LayerCache&) const = default;
};

/// Equal layers that follow each other.
struct LayerRun {
  Index count = 1;
  LayerCache layer;
};

/// A number the specification rests on, and where it comes from ("num_key_value_heads", or why
/// another key speaks for it).
struct SpecFact {
  std::string what;
  Index value = 0;
  std::string from;
};

/// A model as its cache sees it: the layers that own a cache, in order. Models whose layers differ
/// need no other formula: bytes are the sum over this list.
struct CacheSpec {
  std::string model = "";  ///< a name to print, may be empty
  std::vector<LayerRun> layers = {};
  std::vector<SpecFact> facts = {};

  void add(const LayerCache& layer, Index count = 1);
  Index layer_count() const;
};

/// `layers` equal layers that keep everything.
CacheSpec uniform_spec(Index layers, Index kv_heads, Index head_dim);

/// Equal layers together, neighbours or not: "32 layers of 8 kv heads x 128", one text a kind.
std::vector<std::string> layer_summary(const CacheSpec& spec);

}  // namespace attn
