#include "sizing/rates.h"

#include <algorithm>

#include "sizing/budget.h"
#include "sizing/runtime.h"

namespace attn {
namespace {

// Rows that one token attends to when `tokens` are there, as a number.
double rows_seen(const CacheSpec& spec, const CacheRows& rows, Lengths lengths) {
  lengths.sequences = 1;
  return static_cast<double>(allocated_entries(Runtime{}, spec, rows, lengths));
}

// Numbers of one query that meet one row, all heads.
double width_of(const CacheSpec& spec, const CacheRows& rows) {
  const double heads = static_cast<double>(spec.heads > 0 ? spec.heads : rows.kv_heads);
  if (rows.form == CacheRows::Form::kIndexer) return 0.0;
  const Index value = rows.form == CacheRows::Form::kLatent ? rows.key_dim : rows.value_dim;
  return heads * static_cast<double>(rows.key_dim + value);
}

// Sum over t = 1 .. n of min(t, limit).
double summed(double n, double limit) {
  const double short_ones = std::min(n, limit);
  return short_ones * (short_ones + 1) / 2 + (n - short_ones) * limit;
}

double rows_of_all_tokens(const CacheSpec& spec, const CacheRows& rows, const Lengths& lengths) {
  const auto tokens = static_cast<double>(lengths.tokens);
  switch (rows.span) {
    case CacheRows::Span::kAll:
      return summed(tokens, tokens);
    case CacheRows::Span::kWindow:
      return summed(tokens, static_cast<double>(rows.limit));
    case CacheRows::Span::kChunk: {
      const auto chunk = static_cast<double>(rows.limit);
      const Index chunks = lengths.tokens / rows.limit;  // whole ones
      const auto whole = static_cast<double>(chunks);
      return whole * summed(chunk, chunk) + summed(tokens - whole * chunk, chunk);
    }
    case CacheRows::Span::kCompressed:
      return summed(tokens, tokens) / static_cast<double>(rows.limit);
    case CacheRows::Span::kEncoder:
      return tokens * rows_seen(spec, rows, lengths);
  }
  return 0.0;
}

}  // namespace

double attention_flops(const CacheSpec& spec, const Lengths& lengths) {
  double flops = 0.0;
  for (const LayerRun& run : spec.layers) {
    for (const CacheRows& rows : run.layer.rows) {
      flops += static_cast<double>(run.count) * 2.0 * width_of(spec, rows) *
               rows_seen(spec, rows, lengths);
    }
  }
  return flops;
}

double prefill_flops(const CacheSpec& spec, const Lengths& lengths, double parameters) {
  const double sequences = static_cast<double>(lengths.sequences);
  double flops = 2.0 * parameters * static_cast<double>(lengths.tokens);
  for (const LayerRun& run : spec.layers) {
    for (const CacheRows& rows : run.layer.rows) {
      flops += static_cast<double>(run.count) * 2.0 * width_of(spec, rows) *
               rows_of_all_tokens(spec, rows, lengths);
    }
  }
  return flops * sequences;
}

DecodeStep decode_step(const CacheSpec& spec, const CacheQuestion& question,
                       const StepWeights& weights, const MachineRates& machine) {
  const auto sequences = static_cast<double>(question.lengths.sequences);
  const KvBytes bytes = kv_bytes(spec, question);
  DecodeStep step;
  step.weight_bytes = std::min(weights.all_bytes, weights.bytes * sequences);
  step.cache_bytes = static_cast<double>(bytes.total) + static_cast<double>(bytes.state);
  step.flops = sequences * (2.0 * weights.parameters + attention_flops(spec, question.lengths));
  if (machine.bandwidth > 0) {
    step.seconds = (step.weight_bytes + step.cache_bytes) / machine.bandwidth;
  }
  if (machine.flops > 0) step.seconds = std::max(step.seconds, step.flops / machine.flops);
  return step;
}

std::optional<Index> batch_where_cache_dominates(const CacheSpec& spec, CacheQuestion question,
                                                 const StepWeights& weights) {
  constexpr Index kMost = 1 << 24;
  const Index below = largest_that_fits(kMost, [&](Index sequences) {
    question.lengths.sequences = sequences;
    const DecodeStep step = decode_step(spec, question, weights, {});
    return step.cache_bytes <= step.weight_bytes;
  });
  return below == kMost ? std::nullopt : std::optional<Index>(below + 1);
}

Index largest_batch_at_rate(const CacheSpec& spec, CacheQuestion question,
                            const StepWeights& weights, const MachineRates& machine, double rate) {
  constexpr Index kMost = 1 << 24;
  return largest_that_fits(kMost, [&](Index sequences) {
    question.lengths.sequences = sequences;
    return decode_step(spec, question, weights, machine).seconds * rate <= 1.0;
  });
}

}  // namespace attn
