// Mistakes in the numbers: scores, softmax, what is added to them, and the arithmetic itself.

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <vector>

#include "check/supposition_list.h"

namespace attn {
namespace {

using Problem = AttentionProblem;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLn2 = 0.6931471805599453;

void scale_is(SuppositionList& list, const char* name, double scale) {
  if (scale == list.problem().scale()) return;
  list.seen(name, [scale](Problem& p) { p.rules.scale = scale; });
}

void add_to_denominator(Problem& problem, double amount) {
  if (problem.sinks.empty()) {
    problem.sinks.assign(static_cast<std::size_t>(problem.heads()), -kInfinity);
  }
  for (double& sink : problem.sinks) sink = std::log(std::exp(sink) + amount);
}

}  // namespace

void suppose_scales(SuppositionList& list) {
  const Problem& given = list.problem();
  const auto dim = static_cast<double>(given.head_dim());
  const auto width = dim * static_cast<double>(given.heads());
  const double scale = given.scale();
  scale_is(list, "missing-scale", 1);
  if (given.heads() > 1) scale_is(list, "scale-from-width", 1 / std::sqrt(width));
  for (double wrong :
       {1 / std::sqrt(dim), 1 / dim, 1 / std::sqrt(static_cast<double>(given.value_dim())),
        std::sqrt(scale), scale * scale, scale * kLn2, scale / kLn2, std::sqrt(dim), dim,
        1 / std::sqrt(static_cast<double>(given.kv_len())), 1 / width}) {
    if (std::isfinite(wrong)) scale_is(list, "wrong-scale", wrong);
  }
  for (Index kept = given.head_dim() - 1; kept >= 1; --kept) {
    const bool likely =
        kept == given.head_dim() - 1 || kept * 2 == given.head_dim() || kept % 8 == 0;
    if (!likely) continue;
    for (bool own_scale : {false, true}) {
      list.seen("head-dim-truncated", [kept, own_scale](Problem& p) {
        if (own_scale)
          p.rules.scale = 1 / std::sqrt(static_cast<double>(kept));
        else
          p.rules.scale = p.scale();
        for (Index row = 0; row < p.q.size() / p.head_dim(); ++row) {
          double* query = p.q.data() + row * p.head_dim();
          std::fill(query + kept, query + p.head_dim(), 0);
        }
      });
    }
  }
}

void suppose_softcaps(SuppositionList& list) {
  const Problem& given = list.problem();
  if (given.rules.softcap == 0) return;
  if (hides(given)) list.twisted("softcap-after-mask", Twist::kSoftcapAfterMask);
  list.seen("softcap-missing", [](Problem& p) { p.rules.softcap = 0; });
  list.seen("softcap-before-scale", [](Problem& p) {
    // cap * tanh(q.k / cap) * scale is a cap of cap * scale on the scaled scores
    p.rules.softcap *= std::abs(p.scale());
  });
}

void suppose_softmaxes(SuppositionList& list) {
  const Problem& given = list.problem();
  list.twisted("softmax-axis", Twist::kSoftmaxOverQueries);
  if (given.heads() > 1) list.twisted("softmax-axis", Twist::kSoftmaxOverHeads);
  list.twisted("softmax-over-everything", Twist::kSoftmaxOverMatrix);
  if (given.heads() * given.batch() > 1) {
    list.twisted("softmax-over-everything", Twist::kSoftmaxOverAll);
  }
  list.twisted("rows-not-normalised", Twist::kNoDivision);
}

void suppose_tiles(SuppositionList& list) {
  const Problem& given = list.problem();
  for (Index tile : {4, 8, 16, 32, 64, 128}) {
    const Index keys = given.kv_len();
    const Index more = (tile - keys % tile) % tile;
    if (more > 0 && keys > 0) {
      // Zero keys score 0 and add nothing but their number to the denominator, as a sink does.
      list.seen("tail-tile",
                [more](Problem& p) { add_to_denominator(p, static_cast<double>(more)); });
    }
    const Index whole = keys / tile * tile;
    if (whole < keys && whole > 0) {
      list.allowed("tail-tile", [whole](const Problem& p, Index b, Index h, Index i, Index j) {
        return j < whole && may_see(p, b, h, i, j);
      });
    }
    if (keys > tile) {
      list.twisted("online-rescale", Twist::kForgottenRescale, static_cast<double>(tile));
      list.twisted("online-rescale", Twist::kForgottenOutRescale, static_cast<double>(tile));
    }
  }
}

void suppose_sinks(SuppositionList& list) {
  const Problem& given = list.problem();
  if (given.sinks.empty()) return;
  list.seen("sink-ignored", [](Problem& p) { p.sinks.clear(); });
  list.seen("sink-scaled", [](Problem& p) {
    for (double& sink : p.sinks) sink *= p.scale();
  });
  list.seen("sink-twice", [](Problem& p) {
    for (double& sink : p.sinks) sink += kLn2;
  });
  if (given.rules.softcap > 0) {
    list.seen("sink-scaled", [](Problem& p) {
      if (p.rules.softcap == 0) return;
      for (double& sink : p.sinks) sink = p.rules.softcap * std::tanh(sink / p.rules.softcap);
    });
  }
}

void suppose_slopes(SuppositionList& list) {
  const Problem& given = list.problem();
  const auto count = static_cast<double>(given.heads());
  if (given.alibi_slopes.empty()) return;
  list.seen("alibi-missing", [](Problem& p) { p.alibi_slopes.clear(); });
  list.seen("alibi-sign", [](Problem& p) {
    for (double& slope : p.alibi_slopes) slope = -slope;
  });
  list.seen("alibi-slopes",
            [](Problem& p) { std::reverse(p.alibi_slopes.begin(), p.alibi_slopes.end()); });
  const auto series = [&](double first, double step) {
    list.seen("alibi-slopes", [first, step](Problem& p) {
      for (std::size_t h = 0; h < p.alibi_slopes.size(); ++h) {
        p.alibi_slopes[h] = std::exp2(-(first + step * static_cast<double>(h)));
      }
    });
  };
  series(8 / count, 8 / count);
  series(0, 8 / count);
  series(1, 1);
  series(0, 1);
  if (given.kv_heads() < given.heads()) {
    list.seen("alibi-slopes", [](Problem& p) {
      const std::vector<double> own = p.alibi_slopes;
      for (std::size_t h = 0; h < own.size(); ++h) {
        p.alibi_slopes[h] = own[static_cast<std::size_t>(p.kv_head_of(static_cast<Index>(h)))];
      }
    });
  }
}

void suppose_arithmetic(SuppositionList& list) {
  list.twisted("fp16-overflow", Twist::kRawScoresInF16);
  list.twisted("no-max-subtraction", Twist::kNoMaxSubtraction);
}

}  // namespace attn
