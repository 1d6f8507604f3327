// Mistakes about whose numbers are read: other sequences, other heads.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "check/cases/case_file.h"
#include "check/mistakes/supposition_list.h"

namespace attn {
namespace {

using Problem = AttentionProblem;

// Every sequence is the one that source(b) names.
template <class Source>
void copy_sequences(Tensor<double>& tensor, const Source& source) {
  const Tensor<double> from = tensor;
  const Index each = tensor.size() / tensor.dim(0);
  for (Index b = 0; b < tensor.dim(0); ++b) {
    std::copy_n(from.data() + source(b) * each, each, tensor.data() + b * each);
  }
}

void copy_first(Tensor<double>& tensor) {
  copy_sequences(tensor, [](Index) { return Index{0}; });
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

// (batch, rows, heads, features) in memory taken for (batch, heads, rows, features).
void reread_rows_first(Tensor<double>& tensor) {
  const Shape shape = tensor.shape;
  tensor = swap_layout(tensor);
  tensor.shape = shape;
}

// Features of all heads side by side, split into heads as if heads ran fastest.
void split_features_first(Tensor<double>& tensor) {
  const Tensor<double> from = tensor;
  const Index heads = tensor.dim(1);
  const Index rows = tensor.dim(2);
  const Index features = tensor.dim(3);
  for (Index b = 0; b < tensor.dim(0); ++b) {
    for (Index h = 0; h < heads; ++h) {
      for (Index i = 0; i < rows; ++i) {
        for (Index c = 0; c < features; ++c) {
          const Index at = c * heads + h;
          tensor.data()[((b * heads + h) * rows + i) * features + c] =
              from.data()[((b * heads + at / features) * rows + i) * features + at % features];
        }
      }
    }
  }
}

struct Parts {
  bool q, k, v;
  const char* text;
};

constexpr Parts kParts[] = {{true, true, true, "q, k and v"},
                            {false, true, true, "k and v"},
                            {true, false, false, "q"},
                            {false, true, false, "k"},
                            {false, false, true, "v"}};

template <class Change>
void change_parts(Problem& problem, const Parts& parts, const Change& change) {
  if (parts.q) change(problem.q);
  if (parts.k) change(problem.k);
  if (parts.v) change(problem.v);
}

}  // namespace

void suppose_batches(SuppositionList& list) {
  const Problem& given = list.problem();
  if (given.batch() < 2) return;
  for (const Parts& parts : kParts) {
    list.seen("batch-reuse",
              [parts](Problem& p) {
                change_parts(p, parts, [](Tensor<double>& tensor) { copy_first(tensor); });
              })
        .says(fmt::format("all sequences have {} of sequence 0", parts.text));
  }
  for (const Parts& parts : kParts) {
    const auto from = [&](const char* text, auto source) {
      list.seen("batch-reuse",
                [parts, source](Problem& p) {
                  change_parts(p, parts, [&](Tensor<double>& tensor) {
                    const Index last = tensor.dim(0) - 1;
                    copy_sequences(tensor, [&](Index b) { return source(b, last); });
                  });
                })
          .says(fmt::format("{} are of the {} sequence", parts.text, text))
          .alone();
    };
    from("last", [](Index, Index last) { return last; });
    from("previous", [](Index b, Index last) { return b == 0 ? last : b - 1; });
    from("next", [](Index b, Index last) { return b == last ? 0 : b + 1; });
  }
  if (given.mask && given.mask->dim(0) > 1) {
    list.seen("batch-reuse",
              [](Problem& p) {
                if (p.mask) copy_first(*p.mask);
              })
        .says("all sequences have the mask of sequence 0");
  }
  if (!given.kv_lens.empty()) {
    list.seen("batch-reuse",
              [](Problem& p) {
                if (p.kv_lens.empty()) return;
                const Index first = p.kv_lens.front();
                std::fill(p.kv_lens.begin(), p.kv_lens.end(), first);
              })
        .says("all sequences have the length of sequence 0");
  }
}

namespace {

void suppose_groups(SuppositionList& list) {
  const Problem& given = list.problem();
  const Index kv_heads = given.kv_heads();
  const Index all = given.heads();
  if (kv_heads == all) return;
  const auto reads = [all](Problem& p, bool k, bool v, auto source) {
    const auto own = [&p](Index h) { return p.kv_head_of(h); };
    const auto wrong = [&](Index h) { return source(h, p.kv_heads()); };
    Tensor<double> keys = k ? heads_of(p.k, all, wrong) : heads_of(p.k, all, own);
    Tensor<double> values = v ? heads_of(p.v, all, wrong) : heads_of(p.v, all, own);
    p.k = std::move(keys);
    p.v = std::move(values);
  };
  const auto tiled = [](Index h, Index heads) { return h % heads; };
  if (kv_heads > 1) {
    list.seen("gqa-tiled", [=](Problem& p) { reads(p, true, true, tiled); })
        .says(fmt::format("query head h reads key-value head h % {} and not h / {}", kv_heads,
                          all / kv_heads));
    list.seen("gqa-tiled", [=](Problem& p) { reads(p, true, false, tiled); })
        .says("keys alone: values are of the right head")
        .alone();
    list.seen("gqa-tiled", [=](Problem& p) { reads(p, false, true, tiled); })
        .says("values alone: keys are of the right head")
        .alone();
  }
  list.seen("gqa-first-head",
            [=](Problem& p) { reads(p, true, true, [](Index, Index) { return Index{0}; }); })
      .says("every query head reads key-value head 0");
}

}  // namespace

void suppose_heads(SuppositionList& list) {
  const Problem& given = list.problem();
  const Index kv_heads = given.kv_heads();
  const Index all = given.heads();
  suppose_groups(list);
  if (all == 1) return;
  if (given.q_len() > 1) {
    list.twisted("head-layout", Twist::kOutStoredByRows)
        .says(
            "out was written as (batch, rows, heads, features) and read as (batch, heads, rows, "
            "features)");
    list.twisted("head-layout", Twist::kOutStoredByHeads)
        .says(
            "out was written as (batch, heads, rows, features) and read as (batch, rows, heads, "
            "features)");
  }
  const bool plain = kv_heads == all && given.q_len() == given.kv_len() && !given.mask &&
                     given.kv_lens.empty() && given.cu_seqlens_q.empty() &&
                     given.alibi_slopes.empty() && given.sinks.empty();
  if (plain) {
    list.twisted("head-layout", Twist::kHeadsAsRows)
        .says("heads attend to heads: the axes of heads and rows are exchanged throughout");
  }
  for (const Parts& parts : kParts) {
    if (!parts.q && kv_heads == 1) continue;
    const auto supposed = [&](const char* text, auto change) -> Supposition& {
      return list
          .seen("head-layout", [parts, change](Problem& p) { change_parts(p, parts, change); })
          .says(fmt::format("{} {}", parts.text, text));
    };
    supposed(
        "were stored as (batch, heads, rows, features) and read as (batch, rows, heads, "
        "features)",
        reread);
    supposed(
        "were stored as (batch, rows, heads, features) and read as (batch, heads, rows, "
        "features)",
        reread_rows_first);
    supposed("were split into heads as (features, heads) and not (heads, features)",
             split_features_first)
        .alone();
  }
}

}  // namespace attn
