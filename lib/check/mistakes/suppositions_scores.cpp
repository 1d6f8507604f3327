// Mistakes in the numbers: scores, softmax, and the arithmetic itself.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>
#include <vector>

#include "check/mistakes/supposition_list.h"

namespace attn {
namespace {

using Problem = AttentionProblem;

constexpr double kLn2 = 0.6931471805599453;

void scale_is(SuppositionList& list, const char* name, double scale, const char* formula) {
  const double wanted = list.problem().scale();
  if (scale == wanted || !std::isfinite(scale)) return;
  list.seen(name, [scale](Problem& p) { p.rules.scale = scale; })
      .says(fmt::format("{:.6g} ({}) where {:.6g} was wanted", scale, formula, wanted));
}

void suppose_truncated_heads(SuppositionList& list) {
  const Problem& given = list.problem();
  const Index dim = given.head_dim();
  for (Index kept = dim - 1; kept >= 1; --kept) {
    const bool likely = kept == dim - 1 || kept * 2 == dim || kept % 8 == 0;
    if (!likely && dim > 64) continue;
    for (bool own_scale : {false, true}) {
      Supposition& one = list.seen("head-dim-truncated", [kept, own_scale](Problem& p) {
        if (own_scale)
          p.rules.scale = 1 / std::sqrt(static_cast<double>(kept));
        else
          p.rules.scale = p.scale();
        for (Index row = 0; row < p.q.size() / p.head_dim(); ++row) {
          double* query = p.q.data() + row * p.head_dim();
          std::fill(query + kept, query + p.head_dim(), 0);
        }
      });
      one.says(fmt::format("the first {} of {} features make the scores{}", kept, dim,
                           own_scale ? fmt::format(", scaled by 1/sqrt({})", kept) : ""));
      one.with_others = kept * 2 == dim;
    }
  }
  for (Index kept = given.value_dim() - 1; kept >= 1; --kept) {
    const bool likely = kept * 2 == given.value_dim() || kept % 8 == 0;
    if (!likely && kept + 1 < given.value_dim()) continue;
    list.twisted("head-dim-truncated", Twist::kFeaturesUnwritten, static_cast<double>(kept))
        .says(fmt::format("out is 0 from feature {} on", kept))
        .alone();
  }
}

}  // namespace

void suppose_scales(SuppositionList& list) {
  const Problem& given = list.problem();
  const auto dim = static_cast<double>(given.head_dim());
  const auto width = dim * static_cast<double>(given.heads());
  const auto value_dim = static_cast<double>(given.value_dim());
  const double scale = given.scale();
  scale_is(list, "missing-scale", 1, "none");
  if (given.heads() > 1) {
    scale_is(list, "scale-from-width", 1 / std::sqrt(width),
             fmt::format("1/sqrt({:.0f}), from heads * head_dim", width).c_str());
  }
  if (given.kv_heads() > 1 && given.kv_heads() < given.heads()) {
    const double kv_width = dim * static_cast<double>(given.kv_heads());
    scale_is(list, "scale-from-width", 1 / std::sqrt(kv_width),
             fmt::format("1/sqrt({:.0f}), from kv_heads * head_dim", kv_width).c_str());
  }
  const std::pair<double, const char*> wrong[] = {
      {1 / std::sqrt(dim), "1/sqrt(head_dim)"},
      {1 / dim, "1/head_dim"},
      {1 / std::sqrt(value_dim), "1/sqrt(value_dim)"},
      {std::sqrt(scale), "the root of the scale"},
      {scale * scale, "the scale twice"},
      {scale * kLn2, "the scale times ln 2"},
      {scale / kLn2, "the scale over ln 2"},
      {std::sqrt(dim), "sqrt(head_dim)"},
      {dim, "head_dim"},
      {1 / scale, "1/scale"},
      {-scale, "of the other sign"},
      {0, "q.k does not count"},
      {1 / std::sqrt(static_cast<double>(given.whole_kv_len())), "1/sqrt(kv_len)"},
      {1 / std::sqrt(static_cast<double>(given.whole_q_len())), "1/sqrt(q_len)"},
      {1 / std::sqrt(static_cast<double>(given.heads())), "1/sqrt(heads)"},
      {1 / width, "1/(heads * head_dim)"},
      {2 * scale, "twice the scale"},
      {scale / 2, "half the scale"}};
  for (const auto& [number, formula] : wrong) {
    if (number != 1) scale_is(list, "wrong-scale", number, formula);  // 1 is missing-scale
  }
  suppose_truncated_heads(list);
}

void suppose_softcaps(SuppositionList& list) {
  const Problem& given = list.problem();
  if (given.rules.softcap == 0) return;
  const bool added =
      !given.alibi_slopes.empty() || (given.mask && given.rules.mask_type == MaskType::kAdditive);
  const bool padded = !given.kv_lens.empty() || !given.cu_seqlens_q.empty();
  if (hides(given) || padded) {
    list.twisted("softcap-after-mask", Twist::kSoftcapAfterMask)
        .says(fmt::format("minus infinity became {:.4g}: hidden keys have a share",
                          -given.rules.softcap));
  }
  if (hides(given) && padded) {
    list.twisted("softcap-after-mask", Twist::kSoftcapAfterMask, 1)
        .says(fmt::format("minus infinity became {:.4g}, but not that of padding",
                          -given.rules.softcap));
  }
  if (added) {
    list.twisted("softcap-after-mask", Twist::kSoftcapAfterBias)
        .says("the cap bends what is added to the scores too");
  }
  list.seen("softcap-missing", [](Problem& p) { p.rules.softcap = 0; });
  list.seen("softcap-before-scale",
            [](Problem& p) {
              // cap * tanh(q.k / cap) * scale is a cap of cap * scale on the scaled scores
              p.rules.softcap *= std::abs(p.scale());
            })
      .says("q.k is capped before it is scaled");
}

void suppose_softmaxes(SuppositionList& list) {
  const Problem& given = list.problem();
  list.twisted("softmax-axis", Twist::kSoftmaxOverQueries)
      .says("over the queries: columns sum to 1");
  if (given.heads() > 1) {
    list.twisted("softmax-axis", Twist::kSoftmaxOverHeads).says("over the heads");
  }
  if (given.batch() > 1) {
    list.twisted("softmax-axis", Twist::kSoftmaxOverBatch).says("over the sequences").alone();
  }
  list.twisted("softmax-over-everything", Twist::kSoftmaxOverMatrix)
      .says("one over all rows and keys of a head");
  if (given.heads() > 1) {
    list.twisted("softmax-over-everything", Twist::kSoftmaxOverSequence)
        .says("one over all heads, rows and keys of a sequence");
  }
  if (given.batch() > 1) {
    list.twisted("softmax-over-everything", Twist::kSoftmaxOverAll)
        .says("one over the whole tensor");
  }
  list.seen("constant-output", [](Problem& p) { p.rules.scale = 0; })
      .says("weights are even, whatever the scores")
      .alone();
  if (hides(given)) {
    list.seen("constant-output",
              [](Problem& p) {
                p.rules.causal = false;
                p.rules.window_left = p.rules.window_right = -1;
                p.rules.scale = 0;
                p.mask.reset();
                p.alibi_slopes.clear();
                p.sinks.clear();
              })
        .says("each row is the mean of all values")
        .alone();
  }
  list.twisted("rows-not-normalised", Twist::kNoDivision)
      .says("exp(score - largest) is not divided by its sum");
  list.twisted("rows-not-normalised", Twist::kNoDivision, 1)
      .says("exp(score) is not divided by its sum")
      .alone();
}

void suppose_arithmetic(SuppositionList& list) {
  list.twisted("fp16-overflow", Twist::kRawScoresInF16)
      .says("q.k is rounded to f16 before it is scaled")
      .tells_rows();
  for (int bits : {32, 16, 64}) {
    Supposition& one = list.twisted("no-max-subtraction", Twist::kNoMaxSubtraction, bits);
    one.says(fmt::format("exp(score) in f{} leaves what it can hold", bits)).tells_rows();
    one.with_others = bits == 32;
  }
}

}  // namespace attn
