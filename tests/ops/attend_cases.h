#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ops/attend.h"
#include "ops/ops_test_support.h"

namespace attn {

inline constexpr Index kMostKeys = std::numeric_limits<Index>::max();

/// One row of the table that drives attention's tests: every feature of the mask, and shapes.
struct AttendCase {
  std::string name;
  HeadShape shape{2, 2, 8, 8};
  Index q_len = 7;
  Index kv_len = 9;
  bool causal = false;
  Index offset = 0;
  Index mask_kv_len = -1;
  Index window_left = -1;
  Index window_right = -1;
  double scale = 0;
  double softcap = 0;
  bool alibi = false;
  bool sinks = false;
  bool bias = false;          // with a few minus infinities
  bool shared_bias = false;   // one matrix for all heads
  bool allowed = false;       // random, with one row that sees nothing
  std::vector<Index> runs{};  // rows of each run of keys; one run if empty
  double spread = 1.0;        // of queries and keys
  double dropout = 0;         // rate, of weights
};

/// The dropout of a case: that of some layer, sequence and update.
inline DropoutMask dropout_of(const AttendCase& one) {
  DropoutMask mask = dropout_mask(one.dropout, 7, 3, 11, 2);
  mask.first_row = 5;
  return mask;
}

inline std::ostream& operator<<(std::ostream& out, const AttendCase& one) {
  return out << one.name;
}

/// The inputs of a case in double, and its mask over them.
struct AttendInputs {
  Tensor<double> q, k, v, d_out;
  std::vector<double> slopes, sinks;
  Tensor<double> bias;
  std::vector<std::uint8_t> allowed;
};

inline AttendInputs make_inputs(const AttendCase& one) {
  const HeadShape& shape = one.shape;
  AttendInputs made;
  made.q = random_tensor<double>({one.q_len, shape.heads * shape.head_dim}, 1, one.spread);
  made.k = random_tensor<double>({one.kv_len, shape.kv_heads * shape.head_dim}, 2, one.spread);
  made.v = random_tensor<double>({one.kv_len, shape.kv_heads * shape.value_dim}, 3);
  made.d_out = random_tensor<double>({one.q_len, shape.heads * shape.value_dim}, 4);
  if (one.alibi) {
    for (Index h = 0; h < shape.heads; ++h) made.slopes.push_back(0.5 / static_cast<double>(h + 1));
  }
  if (one.sinks) {
    for (Index h = 0; h < shape.heads; ++h) made.sinks.push_back(static_cast<double>(h) - 0.5);
  }
  if (one.bias || one.shared_bias) {
    made.bias =
        random_tensor<double>({one.shared_bias ? 1 : shape.heads, one.q_len, one.kv_len}, 5, 2.0);
    for (std::size_t i = 3; i < made.bias.values.size(); i += 11) {
      made.bias.values[i] = -std::numeric_limits<double>::infinity();
    }
  }
  if (one.allowed) {
    Rng rng(2, RandomPurpose::kExample, 6);
    for (Index i = 0; i < shape.heads * one.q_len * one.kv_len; ++i) {
      const bool dead_row = (i / one.kv_len) % one.q_len == 1;
      made.allowed.push_back(!dead_row && rng.uniform() < 0.7 ? 1 : 0);
    }
  }
  return made;
}

/// The tables of a case in T, and the mask that points into them.
template <class T>
struct AttendTables {
  std::vector<T> slopes, sinks, bias;
  AttendMask<T> mask;

  AttendTables(const AttendCase& one, const AttendInputs& inputs)
      : slopes(inputs.slopes.begin(), inputs.slopes.end()),
        sinks(inputs.sinks.begin(), inputs.sinks.end()),
        bias(inputs.bias.values.begin(), inputs.bias.values.end()) {
    mask.causal = one.causal;
    mask.offset = one.offset;
    mask.kv_len = one.mask_kv_len;
    mask.window_left = one.window_left;
    mask.window_right = one.window_right;
    mask.scale = static_cast<T>(one.scale);
    mask.softcap = static_cast<T>(one.softcap);
    mask.dropout = dropout_of(one);
    if (!slopes.empty()) mask.alibi_slopes = slopes.data();
    if (!sinks.empty()) mask.sinks = sinks.data();
    if (!bias.empty()) {
      mask.bias = {bias.data(), one.shared_bias ? 0 : one.q_len * one.kv_len, one.kv_len, 1};
    }
    if (!inputs.allowed.empty()) {
      mask.allowed = {inputs.allowed.data(), one.q_len * one.kv_len, one.kv_len, 1};
    }
  }
  AttendTables(const AttendTables&) = delete;
  AttendTables& operator=(const AttendTables&) = delete;
};

/// Runs of a key and a value matrix as the case cuts them.
template <class T>
std::vector<KvRun<T>> make_runs(const AttendCase& one, const Tensor<T>& k, const Tensor<T>& v) {
  if (one.runs.empty()) return {{k.matrix(), v.matrix()}};
  std::vector<KvRun<T>> runs;
  Index first = 0;
  for (const Index rows : one.runs) {
    runs.push_back({k.matrix().row_block(first, rows), v.matrix().row_block(first, rows)});
    first += rows;
  }
  return runs;
}

/// The definition, key by key in double, without any of the library's helpers.
struct NaiveAttention {
  std::vector<double> out, lse, weights, scores;
};

inline NaiveAttention naive_attention(const AttendCase& one, const AttendInputs& in) {
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  const HeadShape& shape = one.shape;
  NaiveAttention result;
  result.out.resize(static_cast<std::size_t>(one.q_len * shape.heads * shape.value_dim));
  for (Index h = 0; h < shape.heads; ++h) {
    const Index kv = h / (shape.heads / shape.kv_heads);
    for (Index i = 0; i < one.q_len; ++i) {
      const Index p = i + one.offset;
      std::vector<double> scores;
      double denominator = one.sinks ? std::exp(in.sinks[static_cast<std::size_t>(h)]) : 0;
      bool dead = true;
      for (Index j = 0; j < one.kv_len; ++j) {
        const auto at = static_cast<std::size_t>((h * one.q_len + i) * one.kv_len + j);
        double s = 0;
        for (Index d = 0; d < shape.head_dim; ++d) {
          s += in.q.matrix()(i, h * shape.head_dim + d) * in.k.matrix()(j, kv * shape.head_dim + d);
        }
        s *= one.scale != 0 ? one.scale : 1 / std::sqrt(static_cast<double>(shape.head_dim));
        if (one.softcap != 0) s = one.softcap * std::tanh(s / one.softcap);
        if (one.alibi) {
          s -= in.slopes[static_cast<std::size_t>(h)] * std::abs(static_cast<double>(p - j));
        }
        if (one.shared_bias) s += in.bias.values[static_cast<std::size_t>(i * one.kv_len + j)];
        if (one.bias) s += in.bias.values[at];
        bool seen = !(one.causal && j > p);
        if (one.mask_kv_len >= 0 && j >= one.mask_kv_len) seen = false;
        if (one.window_left >= 0 && p - j > one.window_left) seen = false;
        if (one.window_right >= 0 && j - p > one.window_right) seen = false;
        if (one.allowed && in.allowed[at] == 0) seen = false;
        if (!seen) s = kHidden;
        if (s != kHidden) dead = false;
        denominator += std::exp(s);
        scores.push_back(s);
      }
      result.lse.push_back(dead ? kHidden : std::log(denominator));
      for (Index j = 0; j < one.kv_len; ++j) {
        const double s = scores[static_cast<std::size_t>(j)];
        const double weight = s == kHidden ? 0 : std::exp(s) / denominator;
        result.scores.push_back(s);
        result.weights.push_back(weight);
        if (weight == 0 || is_dropped(dropout_of(one), h, i, j)) continue;
        for (Index d = 0; d < shape.value_dim; ++d) {
          result.out[static_cast<std::size_t>((i * shape.heads + h) * shape.value_dim + d)] +=
              weight / (1 - one.dropout) * in.v.matrix()(j, kv * shape.value_dim + d);
        }
      }
    }
  }
  return result;
}

/// Small shapes, which gradient checks can afford; each row adds one thing, the last ones many.
inline std::vector<AttendCase> small_attend_cases() {
  std::vector<AttendCase> cases;
  cases.push_back({.name = "full"});
  cases.push_back({.name = "causal", .q_len = 9, .causal = true});
  cases.push_back({.name = "causal_offset", .q_len = 4, .causal = true, .offset = 5});
  cases.push_back({.name = "causal_negative_offset", .causal = true, .offset = -2});
  cases.push_back({.name = "one_query", .q_len = 1, .causal = true, .offset = 8});
  cases.push_back({.name = "kv_len", .mask_kv_len = 4});
  cases.push_back({.name = "kv_len_zero", .mask_kv_len = 0});
  cases.push_back({.name = "no_keys", .kv_len = 0});
  cases.push_back({.name = "no_queries", .q_len = 0});
  cases.push_back({.name = "window", .q_len = 9, .window_left = 2, .window_right = 1});
  cases.push_back({.name = "window_left_causal", .q_len = 9, .causal = true, .window_left = 3});
  cases.push_back({.name = "window_past_the_keys", .offset = 8, .window_left = 2});
  cases.push_back({.name = "window_past_kv_len", .mask_kv_len = 3, .window_left = 1});
  cases.push_back({.name = "window_before_the_keys", .offset = -5, .window_right = 2});
  cases.push_back(
      {.name = "window_of_63_bits", .window_left = kMostKeys, .window_right = kMostKeys});
  cases.push_back({.name = "gqa", .shape = {4, 2, 8, 8}, .causal = true});
  cases.push_back({.name = "mqa", .shape = {3, 1, 8, 8}, .causal = true});
  cases.push_back({.name = "value_dim", .shape = {2, 1, 8, 5}});
  cases.push_back({.name = "odd_dims", .shape = {2, 2, 3, 7}, .causal = true});
  cases.push_back({.name = "one_feature", .shape = {1, 1, 1, 1}});
  cases.push_back({.name = "scale", .scale = 0.7});
  cases.push_back({.name = "softcap", .softcap = 1.5, .spread = 2.0});
  cases.push_back({.name = "alibi", .q_len = 9, .alibi = true});
  cases.push_back({.name = "alibi_causal_offset", .causal = true, .offset = 3, .alibi = true});
  cases.push_back({.name = "sinks", .sinks = true});
  cases.push_back({.name = "sinks_dead_rows", .causal = true, .offset = -3, .sinks = true});
  cases.push_back({.name = "bias", .bias = true});
  cases.push_back({.name = "shared_bias", .shared_bias = true});
  cases.push_back({.name = "allowed", .allowed = true});
  cases.push_back({.name = "allowed_sinks", .sinks = true, .allowed = true});
  cases.push_back({.name = "runs", .causal = true, .offset = 2, .runs = {4, 4, 1}});
  cases.push_back({.name = "runs_of_one", .runs = {1, 1, 1, 1, 1, 1, 1, 1, 1}});
  cases.push_back({.name = "empty_run", .runs = {4, 0, 5}});
  cases.push_back({.name = "all_at_once",
                   .shape = {4, 2, 6, 5},
                   .causal = true,
                   .offset = 2,
                   .mask_kv_len = 8,
                   .window_left = 5,
                   .scale = 0.9,
                   .softcap = 2.0,
                   .alibi = true,
                   .sinks = true,
                   .bias = true,
                   .allowed = true,
                   .runs = {3, 6}});
  cases.push_back({.name = "dropout", .dropout = 0.3});
  cases.push_back({.name = "dropout_one_query", .q_len = 1, .dropout = 0.5});
  cases.push_back({.name = "dropout_all_at_once",
                   .shape = {4, 2, 6, 5},
                   .q_len = 11,
                   .kv_len = 41,
                   .causal = true,
                   .offset = 30,
                   .mask_kv_len = 40,
                   .window_left = 35,
                   .softcap = 2.0,
                   .alibi = true,
                   .sinks = true,
                   .bias = true,
                   .allowed = true,
                   .runs = {3, 38},
                   .dropout = 0.4});
  return cases;
}

/// Shapes that reach across the kernel's blocks of rows and tiles of keys.
inline std::vector<AttendCase> large_attend_cases() {
  std::vector<AttendCase> cases;
  cases.push_back({.name = "long_full", .shape = {2, 2, 64, 64}, .q_len = 130, .kv_len = 700});
  cases.push_back({.name = "long_causal",
                   .shape = {2, 2, 64, 64},
                   .q_len = 300,
                   .kv_len = 300,
                   .causal = true});
  cases.push_back({.name = "long_gqa_offset",
                   .shape = {4, 2, 32, 48},
                   .q_len = 100,
                   .kv_len = 333,
                   .causal = true,
                   .offset = 233});
  cases.push_back({.name = "long_window",
                   .shape = {1, 1, 40, 24},
                   .q_len = 257,
                   .kv_len = 600,
                   .offset = 300,
                   .window_left = 150,
                   .window_right = 20});
  cases.push_back({.name = "decode",
                   .shape = {8, 2, 64, 64},
                   .q_len = 1,
                   .kv_len = 999,
                   .causal = true,
                   .offset = 998});
  cases.push_back({.name = "decode_many_heads",
                   .shape = {12, 2, 16, 24},
                   .q_len = 1,
                   .kv_len = 200,
                   .causal = true,
                   .offset = 180,
                   .window_left = 150,
                   .alibi = true,
                   .sinks = true,
                   .allowed = true});
  cases.push_back({.name = "few_rows",
                   .shape = {2, 1, 40, 40},
                   .q_len = 3,
                   .kv_len = 300,
                   .causal = true,
                   .offset = 297});
  cases.push_back({.name = "decode_pages",
                   .shape = {4, 4, 20, 20},
                   .q_len = 1,
                   .kv_len = 100,
                   .causal = true,
                   .offset = 99,
                   .runs = {16, 16, 16, 16, 16, 16, 4}});
  cases.push_back({.name = "long_pages",
                   .shape = {2, 1, 16, 16},
                   .q_len = 70,
                   .kv_len = 400,
                   .causal = true,
                   .offset = 330,
                   .alibi = true,
                   .runs = {128, 128, 128, 16}});
  cases.push_back({.name = "long_all",
                   .shape = {4, 2, 32, 32},
                   .q_len = 150,
                   .kv_len = 400,
                   .causal = true,
                   .offset = 240,
                   .mask_kv_len = 390,
                   .window_left = 300,
                   .softcap = 3,
                   .alibi = true,
                   .sinks = true,
                   .bias = true,
                   .allowed = true,
                   .spread = 2});
  cases.push_back({.name = "long_dropout",
                   .shape = {4, 2, 32, 16},
                   .q_len = 200,
                   .kv_len = 290,
                   .causal = true,
                   .offset = 90,
                   .window_left = 200,
                   .runs = {100, 101, 89},
                   .dropout = 0.1});
  cases.push_back(
      {.name = "large_scores", .shape = {1, 1, 64, 16}, .q_len = 80, .kv_len = 500, .spread = 6});
  return cases;
}

}  // namespace attn
