#include "sizing/kv_bytes.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/ceil_div.h"
#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

struct WideBytes {
  Wide keys = 0;
  Wide values = 0;
  Wide indexer = 0;
  Wide cross = 0;
  Wide state = 0;
  Wide rank = 0;
  Wide rank_state = 0;
};

// What vllm's pages are, for all layers of a model; nothing for other runtimes.
struct Pages {
  Index state = 0;       // bytes of a state's page; 0: states are not padded
  Wide largest_row = 0;  // bytes of the largest layer's row of one token on one rank
};

[[noreturn]] void throw_too_large(const CacheQuestion& question) {
  throw UsageError(fmt::format("too large: the cache of {} x {} tokens has more than 2^63 bytes",
                               grouped(question.lengths.sequences),
                               grouped(question.lengths.tokens)));
}

Index narrow(Wide bytes, const CacheQuestion& question) {
  const auto value = narrowed(bytes);
  if (!value) throw_too_large(question);
  return *value;
}

// Bytes of a row of one token on one rank.
Wide row_bytes(const CacheRows& rows, const CacheQuestion& question) {
  const Index heads = rows.form == CacheRows::Form::kHeads
                          ? heads_per_rank(rows.kv_heads, question.tensor_parallel)
                          : rows.kv_heads;
  return stored_bytes(question.key_type, rows, heads, rows.key_dim, 1, 1) +
         stored_bytes(question.value_type, rows, heads, rows.value_dim, 1, 1);
}

// Pages are of one size: where a layer's rows are smaller than the largest by a whole factor, its
// page holds that many times the tokens (vllm v1/core/kv_cache_utils.py).
Runtime with_own_block(const CacheRows& rows, const CacheQuestion& question, const Pages& pages) {
  Runtime runtime = question.runtime;
  if (pages.largest_row == 0 || rows.form != CacheRows::Form::kHeads) return runtime;
  const Wide row = row_bytes(rows, question);
  if (row == 0 || pages.largest_row % row != 0) return runtime;
  const auto factor = narrowed(pages.largest_row / row);
  const auto block = factor ? checked_mul(runtime.block_size, *factor) : std::nullopt;
  if (!block) throw_too_large(question);
  runtime.block_size = *block;
  return runtime;
}

// One layer's rows, all sequences.
void add_rows(WideBytes& sum, const CacheSpec& spec, const CacheRows& rows,
              const CacheQuestion& question, const Pages& pages) {
  const Runtime runtime = with_own_block(rows, question, pages);
  const bool indexer = rows.form == CacheRows::Form::kIndexer;
  if (indexer && runtime.kind == Runtime::Kind::kLlamaCpp) return;
  const Index ranks = question.tensor_parallel;
  const bool heads = rows.form == CacheRows::Form::kHeads;
  const Index rank_heads = heads ? heads_per_rank(rows.kv_heads, ranks) : rows.kv_heads;
  const Index entries = allocated_entries(runtime, spec, rows, question.lengths);
  // entries are those of all sequences; a residual is each sequence's own.
  const Index sequences = question.lengths.sequences;
  const bool even = entries % sequences == 0;
  const Index each = even ? entries / sequences : entries;
  const Index times = even ? sequences : 1;
  const Wide keys = stored_bytes(question.key_type, rows, rank_heads, rows.key_dim, each, times);
  const Wide values =
      stored_bytes(question.value_type, rows, rank_heads, rows.value_dim, each, times);
  sum.keys += keys * ranks;
  sum.values += values * ranks;
  sum.rank += keys + values;
  if (indexer) sum.indexer += keys * ranks;
  if (rows.span == CacheRows::Span::kEncoder) sum.cross += (keys + values) * ranks;
}

Index convolution_bytes(const CacheSpec& spec, const LayerState& state,
                        const CacheQuestion& question) {
  if (state.conv_is_f32 || question.runtime.kind == Runtime::Kind::kLlamaCpp) return 4;
  if (!spec.own_type.empty()) {
    return spec.own_type == "float32" || spec.own_type == "fp32" ? 4 : 2;
  }
  return question.key_type.name == "f32" ? 4 : 2;
}

Wide state_page(const CacheSpec& spec, const LayerState& state, const CacheQuestion& question,
                Index ranks) {
  if (state.empty()) return 0;
  const Index conv_bytes = convolution_bytes(spec, state, question);
  const Index recurrent_bytes = state.recurrent_is_f32 ? 4 : conv_bytes;
  const Index groups = ceil_div(state.groups, ranks);
  return (Wide{ceil_div(state.conv_inner, ranks)} + Wide{groups} * state.conv_group) * conv_bytes +
         Wide{ceil_div(state.recurrent, ranks)} * recurrent_bytes;
}

void add_state(WideBytes& sum, const CacheSpec& spec, const LayerState& state,
               const CacheQuestion& question, Index page) {
  const Index ranks = question.tensor_parallel;
  Wide bytes = state_page(spec, state, question, ranks);
  if (bytes > 0 && page > 0) bytes = std::max(bytes, Wide{page});
  sum.rank_state += bytes * question.lengths.sequences;
  sum.state += bytes * question.lengths.sequences * ranks;
}

// What vllm makes of the model: pages of attention and of state are equally large.
CacheQuestion with_pages(const CacheSpec& spec, const CacheQuestion& question, Pages& pages) {
  CacheQuestion result = question;
  if (question.runtime.kind != Runtime::Kind::kVllm) return result;
  Wide layer_token = 0;
  Wide state = 0;
  for (const LayerRun& run : spec.layers) {
    Wide layer = 0;
    for (const CacheRows& rows : run.layer.rows) {
      const Wide row = row_bytes(rows, question);
      layer += row;
      if (rows.form == CacheRows::Form::kHeads) {
        pages.largest_row = std::max(pages.largest_row, row);
      }
    }
    layer_token = std::max(layer_token, layer);
    state = std::max(state, state_page(spec, run.layer.state, question, question.tensor_parallel));
  }
  if (state == 0) return result;
  const Index token = narrow(layer_token, question);
  result.runtime = adjusted(question.runtime, token, narrow(state, question));
  const auto page = checked_mul(token, result.runtime.block_size);
  if (!page) throw_too_large(question);
  pages.state = *page;
  return result;
}

void check_counts(const CacheQuestion& question) {
  const auto positive = [](Index value, const char* what) {
    if (value < 1) throw UsageError(fmt::format("{} must be 1 or more: {}", what, value));
  };
  positive(question.lengths.tokens, "tokens");
  positive(question.lengths.sequences, "batch");
  positive(question.tensor_parallel, "tensor-parallel");
  constexpr Index kMostRanks = 1'000'000;
  if (question.tensor_parallel > kMostRanks) {
    throw UsageError(fmt::format("tensor-parallel must be at most {}: {}", kMostRanks,
                                 question.tensor_parallel));
  }
}

KvBytes finished(const WideBytes& sum, const CacheQuestion& question) {
  KvBytes bytes;
  bytes.keys = narrow(sum.keys, question);
  bytes.values = narrow(sum.values, question);
  bytes.total = narrow(sum.keys + sum.values, question);
  bytes.indexer = narrow(sum.indexer, question);
  bytes.cross = narrow(sum.cross, question);
  bytes.state = narrow(sum.state, question);
  bytes.rank = narrow(sum.rank, question);
  bytes.rank_state = narrow(sum.rank_state, question);
  return bytes;
}

void scale_add(WideBytes& total, const WideBytes& layer, Index count,
               const CacheQuestion& question) {
  const auto add = [&](Wide& sum, Wide part) {
    Wide scaled = 0;
    if (__builtin_mul_overflow(part, Wide{count}, &scaled) ||
        __builtin_add_overflow(sum, scaled, &sum)) {
      throw_too_large(question);
    }
  };
  add(total.keys, layer.keys);
  add(total.values, layer.values);
  add(total.indexer, layer.indexer);
  add(total.cross, layer.cross);
  add(total.state, layer.state);
  add(total.rank, layer.rank);
  add(total.rank_state, layer.rank_state);
}

WideBytes wide_layer(const CacheSpec& spec, const LayerCache& layer, const CacheQuestion& question,
                     const Pages& pages) {
  WideBytes sum;
  for (const CacheRows& rows : layer.rows) add_rows(sum, spec, rows, question, pages);
  add_state(sum, spec, layer.state, question, pages.state);
  return sum;
}

}  // namespace

Index heads_per_rank(Index kv_heads, Index ranks) {
  if (kv_heads % ranks == 0) return kv_heads / ranks;
  if (ranks % kv_heads == 0) return 1;
  throw UsageError(
      fmt::format("--tensor-parallel {} does not share out {} kv heads: one must divide "
                  "the other",
                  ranks, kv_heads));
}

KvBytes kv_bytes(const CacheSpec& spec, const CacheQuestion& asked) {
  check_counts(asked);
  check_runtime(asked.runtime, spec);
  Pages pages;
  const CacheQuestion question = with_pages(spec, asked, pages);
  WideBytes sum;
  for (const LayerRun& run : spec.layers) {
    scale_add(sum, wide_layer(spec, run.layer, question, pages), run.count, question);
  }
  return finished(sum, question);
}

KvBytes kv_bytes(const CacheSpec& spec, Index tokens, Index batch, const CacheType& type) {
  CacheQuestion question;
  question.lengths.tokens = tokens;
  question.lengths.sequences = batch;
  question.key_type = type;
  question.value_type = type;
  return kv_bytes(spec, question);
}

KvBytes layer_bytes(const CacheSpec& spec, const LayerCache& layer, const CacheQuestion& asked) {
  Pages pages;
  const CacheQuestion question = with_pages(spec, asked, pages);
  return finished(wide_layer(spec, layer, question, pages), question);
}

Index held_entries(const CacheSpec& spec, const CacheRows& rows, const CacheQuestion& asked) {
  Pages pages;
  const CacheQuestion question = with_pages(spec, asked, pages);
  return allocated_entries(with_own_block(rows, question, pages), spec, rows, question.lengths);
}

}  // namespace attn
