#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/model_config.h"
#include "nn/embedding.h"

namespace attn {

/// What backward needs of one stack.
template <class T>
struct StackTape {
  std::span<const Index> ids;
  Sequences rows;
  std::vector<BlockTape<T>> blocks;
  NormTape<T> norm;
  Tensor<T> sines;  // the first rows of sinusoidal positions, kept from pass to pass
};

/// Embedding, positions, blocks and the last norm: a decoder, an encoder, or one of the two in an
/// encoder-decoder.
template <class T>
class Stack {
 public:
  struct Shape {
    std::string prefix;  // "", "encoder." or "decoder."
    Index vocab_size = 0;
    Index depth = 0;
    bool causal = true;
    bool cross = false;
  };
  Stack(ParamStore<T>& store, const ModelConfig& config, const Shape& shape,
        std::shared_ptr<const Rotary<T>> rotary);

  const Embedding<T>& tokens() const { return tokens_; }

  /// ids (rows.batch * rows.seq_len) -> (rows, dim). With a cache, a
  /// sequence's first row stands at position cache->length(sequence). Cache, tape and context may
  /// be null. Without a tape the memory in use does not grow with depth. Of kLast the result is
  /// (rows.batch, dim), and the last block leaves out what no other row is wanted for; without a
  /// tape.
  Matrix<T> forward(const Pass<T>& pass, std::span<const Index> ids, const Sequences& rows,
                    const Context<T>* context, KvCache<T>* cache, StackTape<T>* tape,
                    RowsWanted wanted = RowsWanted::kAll) const;

  /// Adds to the parameters' gradients and, with cross-attention, to d_context.
  void backward(const BackwardPass<T>& pass, const StackTape<T>& tape, In<T> d_y,
                Matrix<T> d_context) const;

 private:
  Matrix<T> embed(const Pass<T>& pass, std::span<const Index> ids, const Sequences& rows,
                  const KvCache<T>* cache, StackTape<T>* tape) const;
  /// Rows pos0 .. pos0 + count - 1 of the table of positions.
  Matrix<T> places_from(const Pass<T>& pass, Index pos0, Index count) const;
  /// Its first rows, which a training step asks for chunk by chunk.
  Matrix<T> kept_sines(Index count, StackTape<T>& tape) const;
  void look(const Pass<T>& pass, const std::string& what, In<T> x, const Sequences& rows) const;

  std::string prefix_;
  Position position_;
  Index dim_;
  Embedding<T> tokens_;
  std::optional<Embedding<T>> positions_;
  std::vector<Block<T>> blocks_;
  std::optional<Norm<T>> norm_;
};

}  // namespace attn
