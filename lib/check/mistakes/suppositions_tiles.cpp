// Mistakes of kernels that go over keys and queries in tiles.

#include <fmt/format.h>

#include <initializer_list>
#include <limits>
#include <utility>

#include "check/mistakes/supposition_list.h"

namespace attn {
namespace {

using Problem = AttentionProblem;

// The last tile is filled up with keys that count, be they zeros or the last key again.
void suppose_filled_tail(SuppositionList& list, Index tile) {
  const Problem& given = list.problem();
  const Index keys = given.kv_len();
  const Index whole = (keys + tile - 1) / tile * tile;
  if (whole == keys || keys == 0 || !given.cu_seqlens_q.empty()) return;
  for (bool repeat : {false, true}) {
    list.add([whole, repeat] {
          Supposition longer;
          longer.name = "tail-tile";
          longer.as_seen = [whole, repeat](const Problem& problem) {
            if (problem.kv_len() >= whole || !problem.cu_seqlens_q.empty()) return problem;
            Problem more = with_more_keys(problem, whole, repeat);
            more.kv_lens.clear();
            return more;
          };
          return longer;
        }())
        .says(fmt::format("{} keys are filled up to tiles of {} with {} that count", keys, tile,
                          repeat ? "the last key" : "zeros"))
        .with_others = !repeat;
  }
  // The same keys beyond a diagonal that stays where it was.
  if (!given.rules.causal && given.rules.window_right < 0) return;
  list.add([whole] {
        Supposition longer;
        longer.name = "tail-tile";
        longer.as_seen = [whole](const Problem& problem) {
          if (problem.kv_len() >= whole || !problem.cu_seqlens_q.empty()) return problem;
          const Index before = problem.kv_len();
          Problem more = with_more_keys(problem, whole, false);
          if (problem.kv_lens.empty())
            more.kv_lens.assign(static_cast<std::size_t>(problem.batch()), before);
          more = restricted(more, [before](const Problem& p, Index b, Index h, Index i, Index j) {
            return j >= before || may_see(p, b, h, i, j);
          });
          more.kv_lens.clear();
          return more;
        };
        return longer;
      }())
      .says(fmt::format("{} keys are filled up to tiles of {} with zeros that every query sees",
                        keys, tile))
      .alone();
}

// Lengths are rounded up to whole tiles: what stands behind a sequence's end is read.
void suppose_rounded_lengths(SuppositionList& list, Index tile) {
  const Problem& given = list.problem();
  if (given.kv_lens.empty()) return;
  for (bool zeros : {true, false}) {
    list.add([tile, zeros] {
          Supposition rounded;
          rounded.name = "tail-tile";
          rounded.as_seen = [tile, zeros](const Problem& problem) {
            if (problem.kv_lens.empty()) return problem;
            const Index whole = (problem.kv_len() + tile - 1) / tile * tile;
            Problem more = zeros ? with_more_keys(problem, whole, false) : problem;
            std::vector<Index> ends;
            for (Index length : problem.kv_lens) {
              ends.push_back(std::min((length + tile - 1) / tile * tile, more.kv_len()));
            }
            if (zeros) {
              for (Tensor<double>* tensor : {&more.k, &more.v}) {
                const Index row = tensor->dim(3);
                for (Index head = 0; head < tensor->dim(0) * tensor->dim(1); ++head) {
                  const Index length =
                      problem.kv_lens[static_cast<std::size_t>(head / tensor->dim(1))];
                  std::fill_n(tensor->data() + (head * whole + length) * row,
                              (whole - length) * row, 0.0);
                }
              }
            }
            more = restricted(more, [](const Problem& p, Index b, Index h, Index i, Index j) {
              return j >= key_count(p, b) || may_see(p, b, h, i, j);
            });
            more.kv_lens = ends;
            return more;
          };
          return rounded;
        }())
        .says(fmt::format("lengths are rounded up to tiles of {}: {} count", tile,
                          zeros ? "zeros" : "the keys behind the end"))
        .alone();
  }
}

void suppose_dropped_tail(SuppositionList& list, Index tile) {
  const Problem& given = list.problem();
  bool partial = false;
  for (Index b = 0; b < given.batch(); ++b) {
    const Index keys = key_count(given, b);
    partial = partial || (keys % tile != 0 && keys > tile);
  }
  if (partial) {
    list.allowed("tail-tile",
                 [tile](const Problem& p, Index b, Index h, Index i, Index j) {
                   return j < key_count(p, b) / tile * tile && may_see(p, b, h, i, j);
                 })
        .says(fmt::format("the last, partial tile of {} keys is left out", tile));
  }
  const Index rows = given.q_len() / tile * tile;
  if (rows < given.q_len() && rows > 0) {
    list.twisted("tail-tile", Twist::kQueriesUnwritten, static_cast<double>(rows))
        .says(fmt::format("the last, partial tile of {} queries is 0", tile))
        .alone();
  }
}

void suppose_online(SuppositionList& list, Index tile) {
  if (list.problem().kv_len() <= tile) return;
  const std::pair<Twist, const char*> steps[] = {
      {Twist::kForgottenRescale, "sums are not scaled when the maximum rises"},
      {Twist::kForgottenOutRescale, "the sums of out are not scaled when the maximum rises"},
      {Twist::kForgottenSumRescale, "the denominator is not scaled when the maximum rises"},
      {Twist::kTilesOwnMaximum, "each tile takes its own maximum away"},
      {Twist::kTilesAveraged, "each tile has a softmax of its own and all are averaged"}};
  for (const auto& [twist, says] : steps) {
    list.twisted("online-rescale", twist, static_cast<double>(tile))
        .says(fmt::format("tiles of {} keys: {}", tile, says))
        .with_others = twist == Twist::kForgottenRescale;
  }
}

}  // namespace

void suppose_tiles(SuppositionList& list) {
  for (Index tile : {4, 8, 16, 32, 64, 128}) {
    suppose_filled_tail(list, tile);
    suppose_rounded_lengths(list, tile);
    suppose_dropped_tail(list, tile);
  }
  for (Index tile : {1, 2, 4, 8, 16, 32, 64, 128}) suppose_online(list, tile);
}

}  // namespace attn
