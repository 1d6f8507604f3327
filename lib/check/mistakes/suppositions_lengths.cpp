// Mistakes about where a sequence ends: padding and packing.

#include <algorithm>
#include <cmath>
#include <utility>

#include "check/mistakes/supposition_list.h"

namespace attn {

void suppose_lengths(SuppositionList& list) {
  const AttentionProblem& given = list.problem();
  if (!given.kv_lens.empty()) {
    list.seen("padding-ignored", [](AttentionProblem& p) { p.kv_lens.clear(); })
        .says("keys beyond kv_lens are read");
    Supposition aligned;
    aligned.name = "padding-ignored";
    aligned.detail = "keys beyond kv_lens are read, the diagonal ends at kv_lens";
    aligned.as_seen = [](const AttentionProblem& problem) {
      AttentionProblem open =
          restricted(problem, [](const AttentionProblem& p, Index b, Index h, Index i, Index j) {
            return in_reach(p.rules, sight_of(p, b, i).position, j) && mask_allows(p, b, h, i, j);
          });
      open.kv_lens.clear();
      return open;
    };
    list.add(std::move(aligned));
    list.twisted("padding-ignored", Twist::kHiddenTimesZero)
        .says("values beyond kv_lens are multiplied by 0, which NaN and infinity survive")
        .alone();
    for (bool spread : {false, true}) {
      Supposition& read = list.seen("padding-ignored", [spread](AttentionProblem& p) {
        p.kv_lens.clear();
        for (Tensor<double>* tensor : {&p.k, &p.v}) {
          if (spread && tensor == &p.v) continue;
          for (double& value : tensor->values) value = std::isfinite(value) ? value : 0;
        }
      });
      read.says(spread ? "keys beyond kv_lens are read, and hidden values times 0"
                       : "keys beyond kv_lens are read, with 0 for what is not finite");
      if (spread) read.twist = Twist::kHiddenTimesZero;
      read.alone();
    }
    list.twisted("mask-sentinel-finite", Twist::kPaddingByNumber, 0)
        .says("padding has score 0 and a share of the weight")
        .tells_rows()
        .alone();
    for (Index change : {Index{1}, Index{-1}}) {
      list.seen("padding-off-by-one",
                [change](AttentionProblem& p) {
                  for (Index& length : p.kv_lens) {
                    length = std::clamp(length + change, Index{0}, p.kv_len());
                  }
                })
          .says(change > 0 ? "one key beyond kv_lens is read" : "the last key is left out")
          .alone();
    }
    list.add([] {
          Supposition left;
          left.name = "padding-side";
          left.as_seen = [](const AttentionProblem& problem) {
            AttentionProblem open = restricted(
                problem, [](const AttentionProblem& p, Index b, Index h, Index i, Index j) {
                  return j >= p.kv_len() - key_count(p, b) && mask_allows(p, b, h, i, j) &&
                         in_reach(p.rules, sight_of(p, b, i).position, j);
                });
            open.kv_lens.clear();
            return open;
          };
          return left;
        }())
        .says("the first keys are taken for padding and not the last")
        .alone();
  }
  if (!given.cu_seqlens_q.empty()) {
    list.seen("packing-ignored",
              [](AttentionProblem& p) {
                p.cu_seqlens_q.clear();
                p.cu_seqlens_k.clear();
              })
        .says("packed sequences see each other");
    list.add([] {
          Supposition local;
          local.name = "packing-ignored";
          local.as_seen = [](const AttentionProblem& problem) {
            AttentionProblem open = restricted(
                problem, [](const AttentionProblem& p, Index b, Index h, Index i, Index j) {
                  return in_reach(p.rules, sight_of(p, b, i).position, j) && j < key_count(p, b) &&
                         mask_allows(p, b, h, i, j);
                });
            open.cu_seqlens_q.clear();
            open.cu_seqlens_k.clear();
            return open;
          };
          return local;
        }())
        .says("packed sequences see each other, up to the diagonal of each")
        .alone();
  }
}

}  // namespace attn
