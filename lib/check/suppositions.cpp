#include "check/suppositions.h"

#include <initializer_list>

#include "check/supposition_list.h"

namespace attn {
namespace {

// Most specific first: of two suppositions that explain an answer the earlier one is named.
constexpr std::initializer_list<void (*)(SuppositionList&)> kKinds = {
    // suppositions_sight.cpp
    suppose_masks, suppose_causality, suppose_windows, suppose_lengths,
    // suppositions_layout.cpp
    suppose_batches, suppose_heads,
    // suppositions_scores.cpp
    suppose_scales, suppose_softcaps, suppose_softmaxes, suppose_tiles, suppose_sinks,
    suppose_slopes, suppose_arithmetic};

}  // namespace

std::vector<Supposition> suppositions(const AttentionProblem& problem) {
  SuppositionList list(problem);
  for (const auto kind : kKinds) kind(list);
  return list.take();
}

}  // namespace attn
