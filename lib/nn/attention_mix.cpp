// How attention's queries are shared by threads.
#include <algorithm>

#include "core/ceil_div.h"
#include "core/parallel.h"
#include "nn/attention.h"

namespace attn {
namespace {

// Queries of one call of attend: the unit that threads share. Fixed, because a row's bits may
// depend on the rows it was computed with.
constexpr Index kQueryBlock = 128;

Index query_blocks(Index q_len) {
  return ceil_div(q_len, kQueryBlock);
}

// Where blocks are not all full the first is short: of causal queries it sees the fewest keys, and
// vectors with a few queries cost as much as full ones.
struct QueryBlock {
  Index first;
  Index count;

  QueryBlock(Index q_len, Index index) {
    const Index end = q_len - (query_blocks(q_len) - 1 - index) * kQueryBlock;
    first = std::max<Index>(end - kQueryBlock, 0);
    count = end - first;
  }
};

// Key-value heads first .. first + count - 1, with the query heads that read them. No head knows of
// another, so the bits are those of all heads together.
template <class T>
struct HeadPart {
  HeadShape shape;
  Index first = 0;

  HeadPart(const HeadShape& all, Index part, Index parts)
      : shape(all), first(all.kv_heads * part / parts) {
    shape.kv_heads = all.kv_heads * (part + 1) / parts - first;
    shape.heads = shape.kv_heads * all.group();
  }
  // Of outputs, too.
  template <class U>
  Matrix<U> of_queries(Matrix<U> x) const {
    return x.col_block(first * shape.group() * shape.head_dim, shape.heads * shape.head_dim);
  }
  std::span<const KvRun<T>> of_runs(std::span<const KvRun<T>> runs, Arena& arena) const {
    auto* const made = arena.allocate<KvRun<T>>(static_cast<Index>(runs.size()));
    const Index at = first * shape.head_dim;
    const Index width = shape.kv_heads * shape.head_dim;
    std::transform(runs.begin(), runs.end(), made, [&](const KvRun<T>& run) {
      return KvRun<T>{run.k.col_block(at, width), run.v.col_block(at, width)};
    });
    return {made, runs.size()};
  }
};

}  // namespace

// mixed = softmax(scores) values for every sequence, in blocks of queries, or of heads too, that
// threads share.
template <class T>
void Attention<T>::mix(const Pass<T>& pass, In<T> q, const Sequences& rows,
                       const Sequences& source_rows, std::span<const Keys> keys, Matrix<T> mixed,
                       T* lse) const {
  const Index heads = shape_.heads;
  const Index q_len = rows.seq_len;
  Index kv_len = 0;
  for (const Keys& one : keys) kv_len = std::max(kv_len, one.rows);
  T* weights = nullptr;
  if (pass.probe != nullptr && pass.probe->want_weights) {
    for (const Keys& one : keys) {
      require_shape(one.rows == kv_len, "attention: weights of sequences of unequal length");
    }
    Tensor<T>& kept = pass.probe->weights[name_];
    kept = Tensor<T>({rows.batch, heads, q_len, kv_len});
    weights = kept.data();
  }
  const Index blocks = query_blocks(q_len);
  const int threads = pass.work.threads_for_product(
      q_len, rows.batch * 2 * shape_.kv_heads * shape_.head_dim * kv_len);
  if (threads > 1 && lse == nullptr && weights == nullptr && pass.dropout == nullptr) {
    // One row reads what lies side by side; many rows are work enough for small parts.
    const Index parts = std::min<Index>(shape_.kv_heads, q_len == 1 ? threads : 4 * threads);
    return mix_parts(pass, q, rows, source_rows, keys, mixed, parts, threads);
  }
  parallel_for(rows.batch * blocks, threads, [&](Index task, int worker) {
    Arena& arena = pass.work.worker(worker);
    const Arena::Scope scope(arena);
    const Index sequence = task / blocks;
    const auto [first, count] = QueryBlock(q_len, task % blocks);
    const Keys& seen = keys[static_cast<std::size_t>(sequence)];
    AttendProbe<T> probe;
    if (lse != nullptr) probe.lse = arena.allocate<T>(heads * count);
    if (weights != nullptr) probe.weights = arena.allocate<T>(heads * count * kv_len);
    const Index row = sequence * q_len + first;
    attend<T>(shape_, q.row_block(row, count), seen.runs,
              mask(source_rows, sequence, seen.offset + first, pass.dropout, first),
              mixed.row_block(row, count), probe, arena);
    for (Index head = 0; head < heads; ++head) {
      const Index to = (sequence * heads + head) * q_len + first;
      if (lse != nullptr) std::copy_n(probe.lse + head * count, count, lse + to);
      if (weights != nullptr) {
        std::copy_n(probe.weights + head * count * kv_len, count * kv_len, weights + to * kv_len);
      }
    }
  });
}

template <class T>
void Attention<T>::mix_parts(const Pass<T>& pass, In<T> q, const Sequences& rows,
                             const Sequences& source_rows, std::span<const Keys> keys,
                             Matrix<T> mixed, Index parts, int threads) const {
  const Index q_len = rows.seq_len;
  const Index blocks = query_blocks(q_len);
  const auto attend_part = [&](Index task, int worker) {
    Arena& arena = pass.work.worker(worker);
    const Arena::Scope scope(arena);
    // The first parts of all blocks come before the second ones: later blocks see more.
    const HeadPart<T> part(shape_, task / (rows.batch * blocks), parts);
    const Index block = task % (rows.batch * blocks);
    const Index sequence = block / blocks;
    const auto [first, count] = QueryBlock(q_len, block % blocks);
    const Keys& seen = keys[static_cast<std::size_t>(sequence)];
    const Index row = sequence * q_len + first;
    AttendMask<T> masked = mask(source_rows, sequence, seen.offset + first, nullptr, first);
    if (masked.alibi_slopes != nullptr) masked.alibi_slopes += part.first * shape_.group();
    attend<T>(part.shape, part.of_queries(q.row_block(row, count)), part.of_runs(seen.runs, arena),
              masked, part.of_queries(mixed.row_block(row, count)), {}, arena);
  };
  const Index tasks = rows.batch * blocks * parts;
  if (q_len == 1) {
    parallel_shares(tasks, threads, attend_part);
  } else {
    parallel_for(tasks, threads, attend_part);
  }
}

template void Attention<float>::mix(const Pass<float>&, In<float>, const Sequences&,
                                    const Sequences&, std::span<const Keys>, Matrix<float>,
                                    float*) const;
template void Attention<float>::mix_parts(const Pass<float>&, In<float>, const Sequences&,
                                          const Sequences&, std::span<const Keys>, Matrix<float>,
                                          Index, int) const;
template void Attention<double>::mix(const Pass<double>&, In<double>, const Sequences&,
                                     const Sequences&, std::span<const Keys>, Matrix<double>,
                                     double*) const;
template void Attention<double>::mix_parts(const Pass<double>&, In<double>, const Sequences&,
                                           const Sequences&, std::span<const Keys>, Matrix<double>,
                                           Index, int) const;

}  // namespace attn
