#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "core/arena.h"
#include "core/parallel.h"
#include "core/tensor.h"
#include "nn/param_store.h"
#include "ops/dropout.h"

namespace attn {

/// The rows of a pass: `batch` sequences of `seq_len` rows each, one after another.
struct Sequences {
  Index batch = 1;
  Index seq_len = 0;
  const std::uint8_t* key_mask = nullptr;  // (batch, seq_len), 0 hides a row as a key; null: none

  Index rows() const { return batch * seq_len; }
};

/// Which rows of its sequences a caller wants: all, or each one's last, as the next token's scores
/// need no other.
enum class RowsWanted { kAll, kLast };

/// The last row of each sequence: a view that jumps over the others.
template <class T>
Matrix<T> last_rows(Matrix<T> x, const Sequences& rows) {
  return {x.row(rows.seq_len - 1), rows.batch, x.cols(), x.stride() * rows.seq_len};
}

/// Memory and threads of a forward pass. One arena for its caller and one for each worker.
class Workspace {
 public:
  explicit Workspace(int threads = 1);

  int threads() const { return static_cast<int>(workers_.size()); }
  /// Threads for so many multiplications: one where waking others takes longer than the work (some
  /// 0.1 ms), as in decoding with a small model.
  int threads_for(Index multiplications) const;
  /// Threads for the product of so many rows with a matrix, or with cached rows, of so many
  /// numbers. Of few rows, reading these is the work.
  int threads_for_product(Index rows, Index numbers) const;
  Arena& arena() { return arena_; }
  Arena& worker(int index) { return workers_[static_cast<std::size_t>(index)]; }

 private:
  Arena arena_;
  std::deque<Arena> workers_;
};

/// Rows that each key projection has multiplied, per sequence, by the attention's name: the work
/// that a cache saves.
struct KeyRowCounts {
  std::map<std::string, Index, std::less<>> rows;  // "blocks.0.attn" -> rows

  void add(const std::string& attention, Index count) { rows[attention] += count; }
  /// The count that all projections share. Throws ShapeError where they differ or none counted.
  Index each() const;
};

/// What a caller wants to look at. Each pass replaces the entries it makes.
template <class T>
struct Probe {
  bool want_weights = false;
  bool want_hidden = false;
  /// "blocks.0.attn", "decoder.blocks.0.cross_attn" -> (batch, heads, q_len, kv_len): the attention
  /// weights, hidden keys exactly 0.
  std::map<std::string, Tensor<T>, std::less<>> weights;
  /// "embedding" (after positions), "blocks.0" (a block's output), "norm" -> (batch, seq_len, dim).
  std::map<std::string, Tensor<T>, std::less<>> hidden;
};

/// Which numbers dropout hides in one pass of one update. A number is hidden by its own place
/// (layer, sequence of the whole update, row, column or key), so the masks do not depend on how the
/// update is cut into chunks or shared by threads, and backward draws them again.
struct DropoutStream {
  double rate = 0;  // share that is hidden; the others are divided by 1 - rate
  std::uint64_t seed = 0;
  Index step = 0;            // number of the update
  Index first_sequence = 0;  // number, within the update, of the pass's first sequence

  /// Of a layer, which the offset of one of its parameters names, and one of the pass's sequences.
  DropoutMask mask(const Param& layer, Index sequence) const;
};

/// Dropout of a layer's rows, sequence by sequence: of its output, or of the gradient by that. No
/// stream: nothing is done.
template <class T>
void drop_sequences(const DropoutStream* stream, const Param& layer, const Sequences& rows,
                    Matrix<T> x);

/// What every layer's forward needs beside its input. The result lies in work.arena().
template <class T>
struct Pass {
  const T* values;  // all parameters: ParamStore::values()
  Workspace& work;
  Probe<T>* probe = nullptr;
  KeyRowCounts* counts = nullptr;
  const DropoutStream* dropout = nullptr;  // null: none, as in evaluation and decoding

  Arena& arena() const { return work.arena(); }
};

/// Calls task(first, count) for blocks of a pass's rows, which threads share: for what a layer does
/// to each row by itself. `cost`: of a row, in multiplications; few rows make one block.
template <class T, class Task>
void for_row_blocks(const Pass<T>& pass, Index rows, Index cost, const Task& task) {
  constexpr Index kBlockRows = 32;
  if (pass.work.threads_for(rows * cost) == 1) return task(Index{0}, rows);
  parallel_for((rows + kBlockRows - 1) / kBlockRows, pass.work.threads(), [&](Index i, int) {
    task(i * kBlockRows, std::min(kBlockRows, rows - i * kBlockRows));
  });
}

/// What every layer's backward needs: it adds to gradients, a flat buffer of the store's layout.
template <class T>
struct BackwardPass {
  const T* values;
  T* gradients;
  Arena& arena;
  const DropoutStream* dropout = nullptr;  // forward's
};

}  // namespace attn
