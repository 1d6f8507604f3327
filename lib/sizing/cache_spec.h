#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/index.h"

namespace attn {

/// One kind of row that a layer keeps of each sequence.
struct CacheRows {
  enum class Span {
    kAll,         ///< a row for every token
    kWindow,      ///< rows of the last `limit` tokens
    kChunk,       ///< rows of the current chunk, at most `limit`
    kEncoder,     ///< a row for every token of the encoder (cross-attention); `limit` where fixed
    kCompressed,  ///< a row for every `limit` tokens
  };
  enum class Form {
    kHeads,    ///< keys and values of kv_heads heads
    kLatent,   ///< one row that stands for keys and values of all heads (MLA)
    kIndexer,  ///< keys by which sparse attention picks tokens: a byte a number, scales apart
  };
  Span span = Span::kAll;
  Form form = Form::kHeads;
  Index limit = 0;
  Index kv_heads = 1;
  Index key_dim = 0;    ///< numbers of a key, per key-value head
  Index value_dim = 0;  ///< numbers of a value, per key-value head
  /// What a latent row stands for, head by head; 0 where the configuration does not say.
  Index expanded_heads = 0;
  Index expanded_key = 0;
  Index expanded_value = 0;

  bool operator==(const CacheRows&) const = default;
};

/// What a recurrent or convolutional layer keeps of each sequence, however long that is, in
/// numbers.
struct LayerState {
  std::string kind = "";     ///< "mamba-2", "short convolution"
  Index conv_inner = 0;      ///< of the convolution's past, shared out over ranks
  Index conv_group = 0;      ///< the same, of one group; a rank holds whole groups
  Index groups = 0;          ///< groups of conv_group
  Index recurrent = 0;       ///< of the recurrence
  bool conv_is_f32 = false;  ///< kept in f32 as the recurrence is, else in the model's own type
  bool recurrent_is_f32 = true;

  Index convolution() const { return conv_inner + groups * conv_group; }
  bool empty() const { return convolution() == 0 && recurrent == 0; }
  bool operator==(const LayerState&) const = default;
};

/// One layer. It may keep several kinds of rows (own and the encoder's; raw and compressed), a
/// state, both, or nothing.
struct LayerCache {
  std::string kind;  ///< "full", "window", "cross", "mamba-2", "shares layer 18"
  std::vector<CacheRows> rows = {};
  LayerState state = {};

  bool operator==(const LayerCache&) const = default;
};

/// Equal layers that follow each other.
struct LayerRun {
  Index count = 1;
  LayerCache layer;
};

/// A number the specification rests on, and where it comes from ("num_key_value_heads", "default of
/// LlamaConfig", or why another key speaks for it).
struct SpecFact {
  std::string what;
  Index value = 0;
  std::string from;
};

/// A model as its cache sees it: its layers in order. Models whose layers differ need no other
/// formula: bytes are the sum over this list.
struct CacheSpec {
  std::string model = "";   ///< a name to print, may be empty
  std::string family = "";  ///< the model_type whose rule was used; empty for a shape by numbers
  std::vector<LayerRun> layers = {};
  std::vector<SpecFact> facts = {};
  Index heads = 0;                 ///< query heads, 0 where not known
  Index max_tokens = 0;            ///< positions the model was made for, 0 where not known
  std::string own_type = "";       ///< type of the weights and the convolution's past
  std::string cache_type = "";     ///< what the file says the cache is stored in, may be empty
  Index parameters = 0;            ///< of the whole model, 0 where not known
  Index active_parameters = 0;     ///< of them, those that work on one token
  std::string no_parameters = "";  ///< why they are not known

  void add(const LayerCache& layer, Index count = 1);
  Index layer_count() const;
  /// Layers that own rows.
  Index caching_layers() const;
  bool has(CacheRows::Span span) const;
  bool has(CacheRows::Form form) const;
  bool has_state() const;
};

/// `layers` equal layers that keep everything.
CacheSpec uniform_spec(Index layers, Index kv_heads, Index head_dim);

/// A layer of heads over all tokens, the last `window`, or a chunk.
LayerCache full_layer(Index kv_heads, Index key_dim, Index value_dim);
LayerCache window_layer(Index kv_heads, Index key_dim, Index value_dim, Index window);
LayerCache chunk_layer(Index kv_heads, Index key_dim, Index value_dim, Index chunk);

/// The same model with keys and values of every head in place of latent rows, as runtimes without
/// latent attention keep them. UsageError where the configuration does not give the widths.
CacheSpec expanded_latent(CacheSpec spec);

/// "8 kv heads x 128", "8 kv heads x 192 (values 128), last 128 tokens", "one latent row of 576".
std::string rows_text(const CacheRows& rows);

/// Equal layers together, neighbours or not: "32 layers of 8 kv heads x 128", one text a kind.
std::vector<std::string> layer_summary(const CacheSpec& spec);

}  // namespace attn
