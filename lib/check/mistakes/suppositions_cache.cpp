// Mistakes of an attention whose keys come from a cache: the first keys are the past, the last as
// many as there are queries are new.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "check/cases/case_file.h"
#include "check/mistakes/supposition_list.h"

namespace attn {
namespace {

using Problem = AttentionProblem;

// Keys of sequence b that were there before the queries.
Index past_keys(const Problem& problem, Index b) {
  const Index keys = key_count(problem, b);
  const Index past =
      problem.rules.causal_offset ? *problem.rules.causal_offset : keys - problem.whole_q_len();
  return std::clamp(past, Index{0}, keys);
}

// The past goes behind the new rows of each head.
void new_before_past(const Problem& problem, Tensor<double>& tensor) {
  for (Index b = 0; b < tensor.dim(0); ++b) {
    const Index past = past_keys(problem, b) * tensor.dim(3);
    const Index end = key_count(problem, b) * tensor.dim(3);
    for (Index h = 0; h < tensor.dim(1) && end > 0; ++h) {
      const auto begin =
          tensor.values.begin() + (b * tensor.dim(1) + h) * tensor.dim(2) * tensor.dim(3);
      std::rotate(begin, begin + past, begin + end);
    }
  }
}

void clear_past(const Problem& problem, Tensor<double>& tensor) {
  for (Index b = 0; b < tensor.dim(0); ++b) {
    for (Index h = 0; h < tensor.dim(1); ++h) {
      std::fill_n(tensor.data() + (b * tensor.dim(1) + h) * tensor.dim(2) * tensor.dim(3),
                  past_keys(problem, b) * tensor.dim(3), 0.0);
    }
  }
}

// How the heads of a block of rows (heads, rows, features) get mixed up.
enum class Mixing {
  kRowsFirst,
  kHeadsFirst,
  kReversed,
  kNext,
  kPrevious,
  kFirst,
  kFeaturesFirst,
  kFeaturesLast
};

const char* mixing_text(Mixing mixing) {
  switch (mixing) {
    case Mixing::kRowsFirst:
      return "are (rows, heads) in memory, read as (heads, rows)";
    case Mixing::kHeadsFirst:
      return "are (heads, rows) in memory, read as (rows, heads)";
    case Mixing::kReversed:
      return "have their heads in reverse";
    case Mixing::kNext:
      return "have the next head's rows in each head";
    case Mixing::kPrevious:
      return "have the previous head's rows in each head";
    case Mixing::kFirst:
      return "have head 0 in every head";
    case Mixing::kFeaturesFirst:
      return "are split into heads as (features, heads)";
    case Mixing::kFeaturesLast:
      break;
  }
  return "are (features, heads) in memory, split as (heads, features)";
}

// Element (h, r, c) of the block from where the mistake takes it.
double mixed(const std::vector<double>& block, Index heads, Index rows, Index features, Index h,
             Index r, Index c, Mixing mixing) {
  const auto at = [&](Index head, Index row, Index feature) {
    return block[static_cast<std::size_t>((head * rows + row) * features + feature)];
  };
  switch (mixing) {
    case Mixing::kRowsFirst: {  // memory position of (h, r) taken for one of (r, h)
      const Index line = h * rows + r;
      return at(line % heads, line / heads, c);
    }
    case Mixing::kHeadsFirst: {
      const Index line = r * heads + h;
      return at(line / rows, line % rows, c);
    }
    case Mixing::kReversed:
      return at(heads - 1 - h, r, c);
    case Mixing::kNext:
      return at((h + 1) % heads, r, c);
    case Mixing::kPrevious:
      return at((h + heads - 1) % heads, r, c);
    case Mixing::kFirst:
      return at(0, r, c);
    case Mixing::kFeaturesFirst: {
      const Index line = c * heads + h;
      return at(line / features, r, line % features);
    }
    case Mixing::kFeaturesLast:
      break;
  }
  const Index line = h * features + c;
  return at(line % heads, r, line / heads);
}

// Mixes the heads of rows [first, end) of each sequence.
void mix_heads(Tensor<double>& tensor, Index b, Index first, Index end, Mixing mixing) {
  const Index heads = tensor.dim(1);
  const Index features = tensor.dim(3);
  const Index rows = end - first;
  if (rows <= 0) return;
  const auto row_of = [&](Index h, Index r) {
    return tensor.data() + ((b * heads + h) * tensor.dim(2) + first + r) * features;
  };
  std::vector<double> block;
  for (Index h = 0; h < heads; ++h)
    block.insert(block.end(), row_of(h, 0), row_of(h, 0) + rows * features);
  for (Index h = 0; h < heads; ++h) {
    for (Index r = 0; r < rows; ++r) {
      for (Index c = 0; c < features; ++c)
        row_of(h, r)[c] = mixed(block, heads, rows, features, h, r, c, mixing);
    }
  }
}

struct Parts {
  bool q, k, v;
  const char* text;
};

void suppose_mixed_heads(SuppositionList& list) {
  if (list.problem().kv_heads() == 1) return;
  for (Mixing mixing :
       {Mixing::kRowsFirst, Mixing::kHeadsFirst, Mixing::kReversed, Mixing::kNext,
        Mixing::kPrevious, Mixing::kFirst, Mixing::kFeaturesFirst, Mixing::kFeaturesLast}) {
    for (const Parts parts :
         {Parts{false, true, true, "keys and values"}, Parts{false, true, false, "keys"},
          Parts{false, false, true, "values"},
          Parts{true, true, true, "queries, keys and values"}}) {
      for (bool past : {false, true}) {
        if (past && parts.q) continue;
        list.seen("cache-heads",
                  [=](Problem& p) {
                    for (Index b = 0; b < p.batch(); ++b) {
                      const Index middle = past_keys(p, b);
                      const Index first = past ? 0 : middle;
                      const Index end = past ? middle : key_count(p, b);
                      if (parts.q) mix_heads(p.q, b, 0, p.q_len(), mixing);
                      if (parts.k) mix_heads(p.k, b, first, end, mixing);
                      if (parts.v) mix_heads(p.v, b, first, end, mixing);
                    }
                  })
            .says(fmt::format("{} {} {}", past ? "cached" : "new", parts.text, mixing_text(mixing)))
            .alone();
      }
    }
  }
}

}  // namespace

void suppose_caches(SuppositionList& list) {
  const Problem& given = list.problem();
  if (!given.cu_seqlens_q.empty()) return;
  Index past = 0;
  for (Index b = 0; b < given.batch(); ++b) past = std::max(past, past_keys(given, b));
  if (past == 0) return;
  const std::string keys = fmt::format("{} cached {}", past, past == 1 ? "key" : "keys");
  list.allowed("cache-ignored",
               [](const Problem& p, Index b, Index h, Index i, Index j) {
                 return j >= past_keys(p, b) && may_see(p, b, h, i, j);
               })
      .says(fmt::format("the {} were not read", keys));
  list.seen("cache-ignored",
            [](Problem& p) {
              clear_past(p, p.k);
              clear_past(p, p.v);
            })
      .says(fmt::format("the {} are zeros that count", keys));
  const auto rolled = [&](bool k, bool v, const char* text) -> Supposition& {
    return list
        .seen("cache-order",
              [k, v](Problem& p) {
                if (k) new_before_past(p, p.k);
                if (v) new_before_past(p, p.v);
              })
        .says(fmt::format("{} stand before the {}", text, keys));
  };
  rolled(true, true, "new keys and values");
  rolled(true, false, "new keys alone").alone();
  rolled(false, true, "new values alone").alone();
  suppose_mixed_heads(list);
}

}  // namespace attn
