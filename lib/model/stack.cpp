#include "model/stack.h"

#include <algorithm>

#include "ops/vector.h"

namespace attn {
namespace {

constexpr double kSineBase = 10000;

}  // namespace

template <class T>
Stack<T>::Stack(ParamStore<T>& store, const ModelConfig& config, const Shape& shape,
                std::shared_ptr<const Rotary<T>> rotary)
    : prefix_(shape.prefix),
      position_(config.position),
      dim_(config.dim),
      tokens_(store, shape.prefix + "tokens", shape.vocab_size, config.dim) {
  if (config.position == Position::kLearned) {
    positions_.emplace(store, shape.prefix + "positions", config.max_positions, config.dim);
  }
  const BlockConfig block = config.block(shape.causal, shape.cross);
  for (Index i = 0; i < shape.depth; ++i) {
    blocks_.emplace_back(store, shape.prefix + "blocks." + std::to_string(i), block, rotary);
  }
  if (*config.final_norm) {
    norm_.emplace(store, shape.prefix + "norm", config.dim, config.norm_type, config.norm_eps,
                  config.norm_bias);
  }
}

// Token rows, and where positions enter at this door, the positions' rows beneath them.
template <class T>
Matrix<T> Stack<T>::embed(const Pass<T>& pass, std::span<const Index> ids, const Sequences& rows,
                          const KvCache<T>* cache, StackTape<T>* tape) const {
  Matrix<T> x = tokens_.forward(pass, ids);
  if (position_ != Position::kSinusoidal && position_ != Position::kLearned) return x;
  Matrix<T> places;
  Index pos0 = -1;  // of the first of them
  const Arena::Scope scope(pass.arena());
  for (Index i = 0; i < rows.batch; ++i) {
    const Index wanted = cache != nullptr ? cache->length(i) : 0;
    if (wanted != pos0) {
      const bool kept = tape != nullptr && wanted == 0 && position_ == Position::kSinusoidal;
      places = kept ? kept_sines(rows.seq_len, *tape) : places_from(pass, wanted, rows.seq_len);
    }
    pos0 = wanted;
    add<T>(places, x.row_block(i * rows.seq_len, rows.seq_len));
  }
  return x;
}

template <class T>
Matrix<T> Stack<T>::places_from(const Pass<T>& pass, Index pos0, Index count) const {
  if (positions_) {
    Index* at = pass.arena().template allocate<Index>(count);
    for (Index i = 0; i < count; ++i) at[i] = pos0 + i;
    return positions_->forward(pass, std::span<const Index>(at, static_cast<std::size_t>(count)));
  }
  const Matrix<T> places = pass.arena().template matrix<T>(count, dim_);
  // Of one number, in multiplications.
  constexpr Index kSine = 128;
  for_row_blocks(pass, count, kSine * dim_, [&](Index row, Index rows) {
    sinusoidal_positions<T>(kSineBase, pos0 + row, places.row_block(row, rows));
  });
  return places;
}

template <class T>
Matrix<T> Stack<T>::kept_sines(Index count, StackTape<T>& tape) const {
  Tensor<T>& kept = tape.sines;
  if (kept.size() < count * dim_) {
    kept = Tensor<T>({count, dim_});
    sinusoidal_positions<T>(kSineBase, 0, Matrix<T>(kept.data(), count, dim_));
  }
  return {kept.data(), count, dim_};
}

template <class T>
void Stack<T>::look(const Pass<T>& pass, const std::string& what, In<T> x,
                    const Sequences& rows) const {
  if (pass.probe == nullptr || !pass.probe->want_hidden) return;
  Tensor<T>& kept = pass.probe->hidden[prefix_ + what];
  kept = Tensor<T>({rows.batch, rows.seq_len, x.cols()});
  for (Index i = 0; i < x.rows(); ++i) {
    std::copy_n(x.row(i), x.cols(), kept.data() + i * x.cols());
  }
}

template <class T>
Matrix<T> Stack<T>::forward(const Pass<T>& pass, std::span<const Index> ids, const Sequences& rows,
                            const Context<T>* context, KvCache<T>* cache, StackTape<T>* tape,
                            RowsWanted wanted) const {
  require_shape(static_cast<Index>(ids.size()) == rows.rows(), "stack: number of ids");
  require_shape(cache == nullptr || cache->layers() == static_cast<Index>(blocks_.size()),
                "stack: layers of the cache");
  require_shape(wanted == RowsWanted::kAll || tape == nullptr, "stack: last rows beside a tape");
  if (tape != nullptr) {
    tape->ids = ids;
    tape->rows = rows;
    tape->blocks.resize(blocks_.size());
  }
  Matrix<T> x = embed(pass, ids, rows, cache, tape);
  drop_sequences<T>(pass.dropout, tokens_.weight(), rows, x);
  look(pass, "embedding", x, rows);
  // Whoever looks sees all rows.
  const bool all = wanted == RowsWanted::kAll || pass.probe != nullptr || pass.dropout != nullptr;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const auto layer = static_cast<Index>(i);
    KvSlot<T>* self = cache != nullptr ? &cache->self(layer) : nullptr;
    KvSlot<T>* cross = cache != nullptr ? cache->cross(layer) : nullptr;
    if (tape != nullptr) {
      x = blocks_[i].forward(pass, x, rows, context, self, cross, &tape->blocks[i]);
    } else {
      // Without a tape a block's rows are given back as it ends: memory does not grow with depth.
      const Arena::Scope scope(pass.arena());
      const bool last = !all && i + 1 == blocks_.size();
      const Matrix<T> y = blocks_[i].forward(pass, x, rows, context, self, cross, nullptr,
                                             last ? RowsWanted::kLast : RowsWanted::kAll);
      x = x.row_block(0, y.rows());
      // Of one number, in multiplications: memory is what it waits for.
      constexpr Index kCopy = 32;
      for_row_blocks(pass, x.rows(), kCopy * dim_, [&](Index row, Index count) {
        for (Index r = row; r < row + count; ++r) std::copy_n(y.row(r), dim_, x.row(r));
      });
    }
    look(pass, "blocks." + std::to_string(i), x, rows);
  }
  if (norm_) {
    x = norm_->forward(pass, x, tape != nullptr ? &tape->norm : nullptr);
    look(pass, "norm", x, rows);
  }
  const bool to_cut = wanted == RowsWanted::kLast && x.rows() > rows.batch;
  return to_cut ? last_rows(x, rows) : x;
}

template <class T>
void Stack<T>::backward(const BackwardPass<T>& pass, const StackTape<T>& tape, In<T> d_y,
                        Matrix<T> d_context) const {
  const Arena::Scope scope(pass.arena);
  // Two buffers take turns: the gradient of a block's output and of its input.
  Matrix<T> d_out = pass.arena.template zeros<T>(d_y.rows(), dim_);
  Matrix<T> d_in = pass.arena.template matrix<T>(d_y.rows(), dim_);
  if (norm_) {
    norm_->backward(pass, tape.norm, d_y, d_out);
  } else {
    add<T>(d_y, d_out);
  }
  for (std::size_t i = blocks_.size(); i-- > 0;) {
    std::fill_n(d_in.data(), d_in.size(), T{0});
    blocks_[i].backward(pass, tape.blocks[i], d_out, d_in, d_context);
    std::swap(d_out, d_in);
  }
  // x = drop(tokens[ids] + positions)
  drop_sequences<T>(pass.dropout, tokens_.weight(), tape.rows, d_out);
  tokens_.backward(pass, tape.ids, d_out);
  if (positions_) {
    Index* at = pass.arena.template allocate<Index>(tape.rows.seq_len);
    for (Index i = 0; i < tape.rows.seq_len; ++i) at[i] = i;
    const std::span<const Index> places(at, static_cast<std::size_t>(tape.rows.seq_len));
    for (Index i = 0; i < tape.rows.batch; ++i) {
      positions_->backward(pass, places, d_out.row_block(i * tape.rows.seq_len, tape.rows.seq_len));
    }
  }
}

template class Stack<float>;
template class Stack<double>;

}  // namespace attn
