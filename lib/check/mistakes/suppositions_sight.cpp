// Mistakes about which keys a query sees: causality and windows.

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "check/mistakes/supposition_list.h"

namespace attn {
namespace {

using Problem = AttentionProblem;

// -1 is no window, and none has nothing to be moved.
void shift(Index& window, Index change) {
  if (window >= 0) window += change;
}

bool windowed(const Problem& problem) {
  return problem.rules.window_left >= 0 || problem.rules.window_right >= 0;
}

void suppose_alignments(SuppositionList& list) {
  const Problem& given = list.problem();
  const Index difference = given.whole_kv_len() - given.whole_q_len();
  const bool top = given.rules.causal_alignment == CausalAlignment::kTopLeft;
  const char* other = top ? "bottom-right: the last query at the last key"
                          : "top-left: the first query at the first key";
  list.seen("causal-alignment",
            [top](Problem& p) {
              p.rules.causal_alignment =
                  top ? CausalAlignment::kBottomRight : CausalAlignment::kTopLeft;
              p.rules.causal_offset.reset();
            })
      .says(fmt::format("it is aligned {}", other));
  const bool corners = given.kv_lens.empty() && given.cu_seqlens_q.empty() &&
                       !given.rules.causal_offset;  // these offsets are the two corners
  for (Index offset : {Index{0}, difference}) {
    if (corners) break;
    list.seen("causal-alignment", [offset](Problem& p) { p.rules.causal_offset = offset; })
        .says(fmt::format("the first query stands at key {}", offset));
  }
  if (given.cu_seqlens_q.empty()) return;
  for (Index offset : {Index{0}, difference}) {
    list.allowed("causal-alignment",
                 [offset](const Problem& p, Index b, Index h, Index i, Index j) {
                   return in_own_sequence(p, b, i, j) && mask_allows(p, b, h, i, j) &&
                          in_reach(p.rules, whole_row(p, i) + offset, j);
                 })
        .says("positions count over all packed sequences and not inside each")
        .alone();
  }
}

}  // namespace

void suppose_causality(SuppositionList& list) {
  const Problem& given = list.problem();
  const bool causal = given.rules.causal;
  if (causal || windowed(given) || !given.alibi_slopes.empty()) suppose_alignments(list);
  if (!causal) return;
  for (Index change : {Index{1}, Index{-1}}) {
    const char* says = change > 0 ? "each query also sees the next key"
                                  : "each query sees the keys before its own alone";
    list.allowed("causal-off-by-one",
                 [change](const Problem& p, Index b, Index h, Index i, Index j) {
                   const Sight sight = sight_of(p, b, i);
                   if (!mask_allows(p, b, h, i, j)) return false;
                   if (change < 0) return j >= sight.first && j < sight.end && j < sight.position;
                   const Index end = std::min(sight.position + 2, key_limit(p, b, i));
                   Index first = first_key(p, i);
                   if (p.rules.window_left >= 0) {
                     first = std::max(first, sight.position - p.rules.window_left);
                   }
                   return j >= first && j < end;
                 })
        .says(says);
    if (!windowed(given)) continue;
    list.allowed("causal-off-by-one",
                 [change](const Problem& p, Index b, Index h, Index i, Index j) {
                   return in_own_sequence(p, b, i, j) && mask_allows(p, b, h, i, j) &&
                          in_reach(p.rules, sight_of(p, b, i).position + change, j);
                 })
        .says(fmt::format("diagonal and window are moved by {:+}", change))
        .alone();
  }
  list.seen("causal-missing", [](Problem& p) { p.rules.causal = false; })
      .says("later keys are seen too");
  for (bool own : {true, false}) {
    list.allowed("mask-inverted",
                 [own](const Problem& p, Index b, Index h, Index i, Index j) {
                   const Index position = sight_of(p, b, i).position;
                   return in_own_sequence(p, b, i, j) && mask_allows(p, b, h, i, j) &&
                          (j > position || (own && j == position));
                 })
        .says("the causal mask shows the later keys and hides the earlier ones")
        .alone();
  }
  // Hidden by whole tiles: keys of the diagonal's own tile are all seen.
  for (Index tile : {2, 4, 8, 16, 32, 64, 128}) {
    if (tile >= given.kv_len()) break;  // that is no mask at all
    list.allowed("causal-leak",
                 [tile](const Problem& p, Index b, Index h, Index i, Index j) {
                   const Index position = sight_of(p, b, i).position;
                   const Index last = position < 0 ? -1 : position / tile * tile + tile - 1;
                   return in_own_sequence(p, b, i, j) && mask_allows(p, b, h, i, j) &&
                          (j <= last) &&
                          (p.rules.window_left < 0 || j >= position - p.rules.window_left);
                 })
        .says(fmt::format("each query sees its whole tile of {} keys", tile))
        .alone();
  }
}

void suppose_windows(SuppositionList& list) {
  const Problem& given = list.problem();
  const Index left = given.rules.window_left;
  const Index right = given.rules.window_right;
  for (Index change : {Index{1}, Index{-1}}) {
    const auto moved = [change](const char* side, Index wanted) {
      return fmt::format("{} {} where {} was wanted", side, wanted + change, wanted);
    };
    const bool left_moves = left >= 0 && left + change >= 0;
    const bool right_moves = right >= 0 && right + change >= 0;
    if (left_moves) {
      list.seen("window-off-by-one", [change](Problem& p) { shift(p.rules.window_left, change); })
          .says(moved("left", left));
    }
    if (right_moves) {
      list.seen("window-off-by-one", [change](Problem& p) { shift(p.rules.window_right, change); })
          .says(moved("right", right));
    }
    if (left_moves && right_moves) {
      list.seen("window-off-by-one",
                [change](Problem& p) {
                  shift(p.rules.window_left, change);
                  shift(p.rules.window_right, change);
                })
          .says(moved("left", left) + ", " + moved("right", right));
    }
  }
  if (left >= 0) {
    list.seen("window-ignored", [](Problem& p) { p.rules.window_left = -1; })
        .says(fmt::format("earlier keys than the {} before the query's own are seen", left));
  }
  if (right >= 0) {
    list.seen("window-ignored", [](Problem& p) { p.rules.window_right = -1; })
        .says(fmt::format("later keys than the {} after the query's own are seen", right));
  }
  if (left >= 0 && right >= 0) {
    list.seen("window-ignored", [](Problem& p) { p.rules.window_left = p.rules.window_right = -1; })
        .says("neither side is cut");
  }
  if (left != right && windowed(given)) {
    list.seen("window-swapped",
              [](Problem& p) { std::swap(p.rules.window_left, p.rules.window_right); })
        .says(fmt::format("left {} and right {} where {} and {} were wanted", right, left, left,
                          right))
        .alone();
  }
  if (left >= 0 && right < 0 && !given.rules.causal) {
    list.seen("window-swapped", [](Problem& p) { p.rules.window_right = p.rules.window_left; })
        .says(fmt::format("right {} too, which is open", left))
        .alone();
  }
}

// Where the case says nothing, it may be the case that is incomplete and not the implementation.
void suppose_undeclared(SuppositionList& list) {
  const Problem& given = list.problem();
  constexpr Index kMostTried = 64;
  const bool square = given.whole_q_len() == given.whole_kv_len() && given.kv_lens.empty();
  if (!given.rules.causal) {
    for (CausalAlignment corner : {CausalAlignment::kTopLeft, CausalAlignment::kBottomRight}) {
      const bool top = corner == CausalAlignment::kTopLeft;
      list.seen("causal-undeclared",
                [corner](Problem& p) {
                  p.rules.causal = true;
                  p.rules.causal_alignment = corner;
                })
          .says(square ? "it is causal, which the case does not say"
                       : fmt::format("it is causal, aligned {}, which the case does not say",
                                     top ? "top-left" : "bottom-right"))
          .alone();
      if (square) break;
    }
  }
  if (windowed(given)) return;
  for (Index size = 0; size + 1 < std::min(given.kv_len(), kMostTried); ++size) {
    list.seen("window-undeclared", [size](Problem& p) { p.rules.window_left = size; })
        .says(fmt::format("it has a window of left {}, which the case does not say", size))
        .alone();
    if (given.rules.causal) continue;
    list.seen("window-undeclared",
              [size](Problem& p) { p.rules.window_left = p.rules.window_right = size; })
        .says(
            fmt::format("it has a window of left and right {}, which the case does not say", size))
        .alone();
    list.seen("window-undeclared",
              [size](Problem& p) {
                p.rules.causal = true;
                p.rules.window_left = size;
              })
        .says(fmt::format("it is causal with left {}, which the case does not say", size))
        .alone();
  }
}

}  // namespace attn
