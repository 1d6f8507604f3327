#include "check/mistakes/suppositions.h"

#include <initializer_list>

#include "check/mistakes/supposition_list.h"

namespace attn {
namespace {

// Most specific first: of two suppositions that explain an answer the earlier one is named first.
constexpr std::initializer_list<void (*)(SuppositionList&)> kKinds = {
    // suppositions_masks.cpp
    suppose_masks,
    // suppositions_sight.cpp
    suppose_causality, suppose_windows, suppose_lengths,
    // suppositions_cache.cpp
    suppose_caches,
    // suppositions_pages.cpp
    suppose_pages,
    // suppositions_layout.cpp
    suppose_batches, suppose_heads,
    // suppositions_scores.cpp
    suppose_scales, suppose_softcaps,
    // suppositions_masks.cpp
    suppose_sentinels,
    // suppositions_scores.cpp
    suppose_softmaxes, suppose_sinks, suppose_slopes, suppose_arithmetic,
    // suppositions_tiles.cpp
    suppose_tiles,
    // suppositions_sight.cpp: what the case did not declare
    suppose_undeclared};

}  // namespace

std::vector<Supposition> suppositions(const AttentionProblem& problem) {
  SuppositionList list(problem);
  for (const auto kind : kKinds) kind(list);
  return list.take();
}

}  // namespace attn
