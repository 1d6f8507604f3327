#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/stack.h"

namespace attn {

/// Name, shape and place of every parameter, in the order of the flat buffers; takes no memory for
/// their values. The configuration must be completed and valid.
std::vector<ParamInfo> parameter_layout(const ModelConfig& config);

/// What a transformer reads.
struct TokenInput {
  std::span<const Index> ids;  // (batch, seq_len)
  Sequences rows;
  std::span<const Index> source;  // (batch, source_len), encoder-decoder only
  Sequences source_rows;
};

/// What backward needs of one pass. The ids must live as long.
template <class T>
struct TransformerTape {
  StackTape<T> encoder, decoder;
  Matrix<const T> memory;    // the encoder's output
  Matrix<const T> features;  // the head's input
};

/// Which rows' logits are wanted: of all, or of each sequence's last.
using LogitRows = RowsWanted;

/// A whole transformer: one stack (decoder or encoder) or two, and the head. Training, prefill,
/// cached decoding and attention maps are the same forward with different companions.
template <class T>
class Transformer {
 public:
  /// Completes and validates the configuration and makes all parameters, at zero.
  explicit Transformer(const ModelConfig& config);
  Transformer(const Transformer&) = delete;
  Transformer& operator=(const Transformer&) = delete;

  const ModelConfig& config() const { return config_; }
  ParamStore<T>& params() { return params_; }
  const ParamStore<T>& params() const { return params_; }

  /// A pass over this model's own parameters.
  Pass<T> pass(Workspace& work) const { return Pass<T>{params_.values(), work}; }

  /// An empty cache for this model. context: rows of the source, encoder-decoder only.
  KvCache<T> make_cache(Index batch, Index capacity, Index context = 0,
                        const KvLayout& layout = {}) const;

  /// Logits (batch * seq_len, vocab_size), or (batch, vocab_size) of the last rows, in the pass's
  /// arena. With a cache, the rows follow those it holds. cache and tape may be null.
  /// Throws ShapeError for an id outside the vocabulary, and for a position beyond a learned table.
  Matrix<T> forward(const Pass<T>& pass, const TokenInput& input, KvCache<T>* cache,
                    TransformerTape<T>* tape, LogitRows which = LogitRows::kAll) const;

  /// Adds the gradient of every parameter. d_logits (batch * seq_len, vocab_size).
  void backward(const BackwardPass<T>& pass, const TransformerTape<T>& tape, In<T> d_logits) const;

 private:
  Matrix<T> logits(const Pass<T>& pass, const TokenInput& input, KvCache<T>* cache,
                   TransformerTape<T>* tape, LogitRows which) const;

  ModelConfig config_;
  ParamStore<T> params_;
  std::optional<Stack<T>> encoder_;
  std::optional<Stack<T>> decoder_;  // the only stack of a decoder or an encoder
  std::optional<Linear<T>> head_;
};

}  // namespace attn
