// Mistakes about whose numbers are read: other sequences, other heads.

#include <algorithm>
#include <utility>

#include "check/case_file.h"
#include "check/supposition_list.h"

namespace attn {
namespace {

using Problem = AttentionProblem;

void copy_first(Tensor<double>& tensor) {
  const Index each = tensor.size() / tensor.dim(0);
  for (Index b = 1; b < tensor.dim(0); ++b) {
    std::copy_n(tensor.data(), each, tensor.data() + b * each);
  }
}

template <class Source>
Tensor<double> heads_of(const Tensor<double>& from, Index count, const Source& source) {
  Tensor<double> to({from.dim(0), count, from.dim(2), from.dim(3)});
  const Index each = from.dim(2) * from.dim(3);
  for (Index b = 0; b < from.dim(0); ++b) {
    for (Index h = 0; h < count; ++h) {
      std::copy_n(from.data() + (b * from.dim(1) + source(h)) * each, each,
                  to.data() + (b * count + h) * each);
    }
  }
  return to;
}

// The same memory taken for (batch, rows, heads, features).
void reread(Tensor<double>& tensor) {
  std::swap(tensor.shape[1], tensor.shape[2]);
  tensor = swap_layout(tensor);
}

}  // namespace

void suppose_batches(SuppositionList& list) {
  const Problem& given = list.problem();
  if (given.batch() < 2) return;
  list.seen("batch-reuse", [](Problem& p) {
    copy_first(p.k);
    copy_first(p.v);
  });
  list.seen("batch-reuse", [](Problem& p) { copy_first(p.k); });
  list.seen("batch-reuse", [](Problem& p) { copy_first(p.v); });
  list.seen("batch-reuse", [](Problem& p) { copy_first(p.q); });
  list.seen("batch-reuse", [](Problem& p) {
    copy_first(p.q);
    copy_first(p.k);
    copy_first(p.v);
  });
  if (given.mask && given.mask->dim(0) > 1) {
    list.seen("batch-reuse", [](Problem& p) {
      if (p.mask) copy_first(*p.mask);
    });
  }
  if (!given.kv_lens.empty()) {
    list.seen("batch-reuse", [](Problem& p) {
      if (p.kv_lens.empty()) return;
      const Index first = p.kv_lens.front();
      std::fill(p.kv_lens.begin(), p.kv_lens.end(), first);
    });
  }
}

void suppose_heads(SuppositionList& list) {
  const Problem& given = list.problem();
  const Index kv_heads = given.kv_heads();
  const Index all = given.heads();
  if (kv_heads > 1 && kv_heads < all) {
    list.seen("gqa-tiled", [all](Problem& p) {
      p.k = heads_of(p.k, all, [&](Index h) { return h % p.k.dim(1); });
      p.v = heads_of(p.v, all, [&](Index h) { return h % p.v.dim(1); });
    });
  }
  if (kv_heads < all) {
    list.seen("gqa-first-head", [all](Problem& p) {
      p.k = heads_of(p.k, all, [](Index) { return 0; });
      p.v = heads_of(p.v, all, [](Index) { return 0; });
    });
  }
  if (all > 1 && given.q_len() > 1) list.twisted("head-layout", Twist::kOutStoredByRows);
  const bool plain = kv_heads == all && given.q_len() == given.kv_len() && !given.mask &&
                     given.kv_lens.empty() && given.cu_seqlens_q.empty() &&
                     given.alibi_slopes.empty() && given.sinks.empty();
  if (plain && all > 1) list.twisted("head-layout", Twist::kHeadsAsRows);
  if (all > 1) {
    list.seen("head-layout", [](Problem& p) { reread(p.q); });
    list.seen("head-layout", [](Problem& p) {
      reread(p.q);
      reread(p.k);
      reread(p.v);
    });
  }
  if (kv_heads > 1) {
    list.seen("head-layout", [](Problem& p) { reread(p.k); });
    list.seen("head-layout", [](Problem& p) { reread(p.v); });
    list.seen("head-layout", [](Problem& p) {
      reread(p.k);
      reread(p.v);
    });
  }
}

}  // namespace attn
