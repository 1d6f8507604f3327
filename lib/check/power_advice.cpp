#include "check/power_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "check/reference/reference_attention.h"

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLargestF16 = 65504;
constexpr double kOneHot = 50;             // scores this large are this far apart
constexpr double kLargestExponent = 88.7;  // of float32

bool begins(std::string_view name, std::string_view with) {
  return name.substr(0, with.size()) == with;
}

// A factor in words, rounded up so that it suffices.
std::string factor(double wanted) {
  return fmt::format("{:.3g}", std::ceil(wanted * 1.1 * 10) / 10);
}

std::string scores_advice(const PowerFacts& facts) {
  if (facts.largest_score == 0) return "all scores are 0: draw q and k with variance 1";
  if (facts.largest_score < 2) {
    return fmt::format("the largest score is {:.2g}, weights are almost even: multiply q by {}",
                       facts.largest_score, factor(4 / facts.largest_score));
  }
  if (facts.largest_score > kOneHot) {
    return fmt::format(
        "the largest score is {:.3g}, weights are one-hot whatever the scale: "
        "multiply q of some heads by {:.2g}",
        facts.largest_score, 4 / facts.largest_score);
  }
  return "weights hardly depend on the scores here: use more keys, and values of variance 1";
}

std::string window_advice(const AttentionProblem& problem) {
  const AttentionRules& rules = problem.rules;
  const Index reach = std::max(rules.window_left, rules.window_right) + 1;
  if (reach >= problem.kv_len()) {
    return fmt::format("the window of {} reaches over all {} keys: use {} or more", reach,
                       problem.kv_len(), 2 * reach + 1);
  }
  return "the key at the window's edge weighs too little: multiply q by 4, or use a smaller window";
}

std::string mask_advice(const std::string& name, const AttentionProblem& problem,
                        const PowerFacts& facts) {
  if (name == "mask-before-scale") {
    if (!facts.finite_bias) {
      return "the mask holds 0 and -inf alone, which no factor moves: add finite numbers";
    }
    if (problem.scale() == 1) return "the scale is 1: give another one";
  }
  if (facts.all_seen) return "the mask hides nothing: hide a third of the keys";
  if (name == "mask-sentinel-finite") {
    return "hidden keys weigh too little: hide more keys than a row sees (a window does), or use "
           "a row whose seen scores are all below the stand-in";
  }
  return "hidden keys would weigh too little: give them the largest scores and other values";
}

std::string sink_advice(const AttentionProblem& problem, const PowerFacts& facts) {
  const double top = *std::max_element(problem.sinks.begin(), problem.sinks.end());
  return fmt::format(
      "the largest sink is {:.2g}, its share of the weights is small: use sinks of {} "
      "and more",
      top, factor(std::max(5.0, facts.largest_score)));
}

// What is asked for, where a mistake needs something that the problem does not have.
struct Need {
  std::string_view name;
  std::string_view lacks;
};
constexpr std::array<Need, 53> kNeeds = {{
    {"causal-missing", "not causal: test with --causal too"},
    {"causal-off-by-one", "not causal: test with --causal too"},
    {"causal-alignment", "not causal: test with --causal and more keys than queries"},
    {"causal-leak", "not causal: test with --causal too"},
    {"cache-heads", "no cache: test --causal bottom-right with more keys than queries"},
    {"cache-ignored", "no cache: test --causal bottom-right with more keys than queries"},
    {"cache-order", "no cache: test --causal bottom-right with more keys than queries"},
    {"page-table-ignored", "no pages: add k_pages, v_pages and block_table to test it"},
    {"page-order", "no pages, or one a sequence: add k_pages, v_pages and block_table"},
    {"page-size", "no pages: add k_pages, v_pages and block_table to test it"},
    {"window-off-by-one", "no window: add --window-left to test it"},
    {"window-ignored", "no window: add --window-left to test it"},
    {"window-swapped", "no window with two sides: add --window-left and --window-right"},
    {"mask-transposed", "no square mask: add one to test it"},
    {"mask-head-reuse", "no mask of each head's own: add one to test it"},
    {"mask-or-causal", "no boolean mask beside causality: add both to test it"},
    {"mask-ignored", "no mask: add a mask to test it"},
    {"mask-inverted", "no mask: add a mask to test it"},
    {"mask-added-as-numbers", "no boolean mask: add one to test it"},
    {"mask-before-scale", "no additive mask: add one with finite numbers to test it"},
    {"mask-after-softmax", "nothing is hidden: add a mask, a window or --causal to test it"},
    {"mask-sentinel-finite", "nothing is hidden: add a mask, a window or --causal to test it"},
    {"fully-masked-mean", "every row sees a key: hide all keys of one row to test it"},
    {"fully-masked-nan", "every row sees a key: hide all keys of one row to test it"},
    {"padding-ignored", "no lengths: add kv_lens to test it"},
    {"padding-off-by-one", "no lengths: add kv_lens to test it"},
    {"padding-side", "no lengths: add kv_lens to test it"},
    {"packing-ignored", "no packed sequences: add cu_seqlens_q and cu_seqlens_k to test it"},
    {"batch-reuse", "one sequence: use a batch of 2 to test it"},
    {"gqa-tiled", "needs 2 or more key-value heads and more query heads: 4 and 2 test it"},
    {"gqa-first-head", "as many key-value heads as query heads: 4 and 2 test it"},
    {"head-layout", "one head: use 2 or more to test it"},
    {"missing-scale", "the scale is 1: give another one to test it"},
    {"wrong-scale", "no other scale is likely here: use a head_dim above 1"},
    {"scale-from-width", "one head: use 2 or more to test it"},
    {"head-dim-truncated", "head_dim is 1: use more to test it"},
    {"softcap-after-mask", "no softcap, or nothing is hidden: add --softcap and a mask"},
    {"softcap-missing", "no softcap: add --softcap to test it"},
    {"softcap-before-scale", "no softcap: add --softcap to test it"},
    {"sink-ignored", "no sinks: add them to test it"},
    {"sink-scaled", "no sinks: add them to test it"},
    {"sink-heads", "no sinks, or one head: add them to test it"},
    {"sink-unshifted", "no sinks: add them to test it"},
    {"sink-twice", "no sinks: add them to test it"},
    {"alibi-missing", "no ALiBi slopes: add alibi_slopes to test it"},
    {"alibi-offset", "no ALiBi slopes, or n = m: add alibi_slopes to test it"},
    {"alibi-sign", "no ALiBi slopes: add alibi_slopes to test it"},
    {"alibi-slopes", "no ALiBi slopes: add alibi_slopes to test it"},
    {"softmax-axis", "nothing to normalise: use more than one key"},
    {"softmax-over-everything", "nothing to normalise: use more than one key"},
    {"rows-not-normalised", "nothing to normalise: use more than one key"},
    {"tail-tile", "no keys: use some"},
    {"online-rescale", "no keys: use some"},
}};

}  // namespace

PowerFacts power_facts(const AttentionProblem& problem, int threads) {
  PowerFacts facts;
  const AttentionAnswer truth = reference_attention(problem, true, threads);
  const Index rows = problem.q_len();
  for (Index row = 0; row < truth.lse.size(); ++row) {
    const Index b = row / (problem.heads() * rows);
    const Index h = row / rows % problem.heads();
    const Index i = row % rows;
    const double* scores = truth.scores.data() + row * problem.kv_len();
    for (Index j = 0; j < problem.kv_len(); ++j) {
      if (scores[j] == -kInfinity) {
        facts.all_seen = false;
        continue;
      }
      facts.largest_score = std::max(facts.largest_score, std::abs(scores[j]));
      double product = 0;
      const double* query = problem.q_row(b, h, i);
      const double* key = problem.k_row(b, problem.kv_head_of(h), j);
      for (Index c = 0; c < problem.head_dim(); ++c) product += query[c] * key[c];
      facts.largest_product = std::max(facts.largest_product, std::abs(product));
    }
  }
  if (problem.mask && problem.rules.mask_type == MaskType::kAdditive) {
    facts.finite_bias =
        std::any_of(problem.mask->values.begin(), problem.mask->values.end(),
                    [](double value) { return value != 0 && std::isfinite(value); });
  }
  return facts;
}

std::string blind_tiles(Index keys, bool online) {
  std::string tiles;
  for (Index tile : {4, 8, 16, 32, 64, 128}) {
    const bool blind = online ? keys <= tile : keys % tile == 0;
    if (blind) tiles += fmt::format("{}{}", tiles.empty() ? "" : ", ", tile);
  }
  return tiles;
}

std::string power_advice(const std::string& name, const AttentionProblem& problem,
                         const PowerFacts& facts) {
  const Index queries = problem.q_len();
  const Index keys = problem.kv_len();
  if (name == "tail-tile" || name == "online-rescale") {
    const bool online = name == "online-rescale";
    const std::string tiles = blind_tiles(keys, online);
    if (!tiles.empty()) {
      return online
                 ? fmt::format("a tile of {} holds all {} keys: use 2 tiles + 1 (257)", tiles, keys)
                 : fmt::format("{} keys are whole tiles of {}: use 2 tiles + 1 (257)", keys, tiles);
    }
    return online ? "the maximum hardly rises after the first tile: let the largest keys come last"
                  : "the tail weighs too little: give its keys and values larger numbers";
  }
  if (name == "causal-alignment" && queries == keys) {
    return "n = m, so both corners agree: use more keys than queries";
  }
  if (begins(name, "window")) return window_advice(problem);
  if (begins(name, "mask")) return mask_advice(name, problem, facts);
  if (name == "padding-ignored") {
    return "every length is the whole, or padding is zeros of little weight: shorten one, and fill "
           "padding with large numbers";
  }
  if (begins(name, "page")) {
    return "the pages are alike, or weigh too little: draw each anew, and multiply q by 4";
  }
  if (name == "batch-reuse") return "the sequences of the batch are alike: draw each anew";
  if (name == "gqa-first-head" && problem.kv_heads() == 1) {
    return "one key-value head: use 2 or more";
  }
  if (begins(name, "gqa")) return "the key-value heads are alike: draw each anew";
  if (name == "head-layout") {
    return queries == 1 ? "one query: use more" : "the heads are alike: draw each anew";
  }
  if (name == "softcap-missing" || name == "softcap-before-scale") {
    if (facts.largest_score == 0) return scores_advice(facts);
    return fmt::format(
        "the largest score is {:.2g} against a cap of {:.3g}: test with a cap of {:.2g}",
        facts.largest_score, problem.rules.softcap, facts.largest_score / 2);
  }
  if (name == "softcap-after-mask") {
    return fmt::format("exp(-{:.3g}) is next to nothing: use a cap of 5 or less",
                       problem.rules.softcap);
  }
  if (begins(name, "sink") && !problem.sinks.empty()) return sink_advice(problem, facts);
  if (begins(name, "alibi")) return "the bias is small here: use more keys, or larger slopes";
  if (name == "fp16-overflow") {
    return fmt::format(
        "the largest q.k is {:.3g}, float16 ends at 65504: multiply q and k of one "
        "head by {}",
        facts.largest_product,
        factor(std::sqrt(kLargestF16 / std::max(facts.largest_product, 1e-9))));
  }
  if (name == "no-max-subtraction") {
    return fmt::format(
        "the largest score is {:.3g}, exp overflows from 88.7 on: multiply q of one "
        "head by {}",
        facts.largest_score, factor(kLargestExponent / std::max(facts.largest_score, 1e-9)));
  }
  if (name == "head-dim-truncated") {
    return "the last features of q or k are too small: draw all with variance 1";
  }
  if (name == "constant-output") {
    return "the values are small against the tolerance: draw v with variance 1 and fewer keys";
  }
  if (begins(name, "cache") || begins(name, "causal") || begins(name, "padding")) {
    return "the keys in question weigh too little: use fewer keys, or multiply q by 4";
  }
  return scores_advice(facts);
}

std::string missing_for(const std::string& name, const AttentionProblem& problem) {
  if (name == "fp16-overflow") {
    return fmt::format("{} arithmetic does not overflow so", dtype_name(problem.rules.dtype));
  }
  for (const Need& need : kNeeds) {
    if (need.name == name) return std::string(need.lacks);
  }
  return "";
}

}  // namespace attn
