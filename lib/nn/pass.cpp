#include "nn/pass.h"

#include <algorithm>

#include "core/error.h"

namespace attn {

Workspace::Workspace(int threads) {
  for (int i = 0; i < std::max(threads, 1); ++i) workers_.emplace_back();
}

int Workspace::threads_for(Index multiplications) const {
  constexpr Index kWorthThreads = Index{1} << 21;
  return multiplications >= kWorthThreads ? threads() : 1;
}

int Workspace::threads_for_product(Index rows, Index numbers) const {
  // What reading a number costs, in multiplications.
  constexpr Index kReading = 16;
  return threads_for(std::max(rows, kReading) * numbers);
}

Index KeyRowCounts::each() const {
  require_shape(!rows.empty(), "key row counts: nothing was counted");
  const Index first = rows.begin()->second;
  for (const auto& entry : rows) {
    require_shape(entry.second == first, "key row counts: the projections differ");
  }
  return first;
}

DropoutMask DropoutStream::mask(const Param& layer, Index sequence) const {
  return dropout_mask(rate, seed, step, layer.offset, first_sequence + sequence);
}

template <class T>
void drop_sequences(const DropoutStream* stream, const Param& layer, const Sequences& rows,
                    Matrix<T> x) {
  if (stream == nullptr) return;
  for (Index i = 0; i < rows.batch; ++i) {
    drop<T>(stream->mask(layer, i), x.row_block(i * rows.seq_len, rows.seq_len));
  }
}

template void drop_sequences<float>(const DropoutStream*, const Param&, const Sequences&,
                                    Matrix<float>);
template void drop_sequences<double>(const DropoutStream*, const Param&, const Sequences&,
                                     Matrix<double>);

}  // namespace attn
