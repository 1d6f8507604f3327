#pragma once

#include <optional>

#include "core/index.h"
#include "sizing/cache_spec.h"
#include "sizing/kv_bytes.h"

namespace attn {

/// What a machine does in a second, all ranks together.
struct MachineRates {
  double bandwidth = 0.0;  ///< bytes; 0: not asked about
  double flops = 0.0;      ///< operations, a multiply-add is 2; 0: not asked about
};

/// What a step reads of the weights.
struct StepWeights {
  double parameters = 0.0;  ///< that work on one token
  double bytes = 0.0;       ///< of those
  double all_bytes = 0.0;   ///< of all experts: what a large batch reads at most
};

/// One step of decoding: a further token for every sequence.
struct DecodeStep {
  double weight_bytes = 0.0;  ///< read once a step, whatever the batch; experts for every sequence
  double cache_bytes = 0.0;   ///< rows and states of all sequences
  double flops = 0.0;
  double seconds = 0.0;  ///< the larger of bytes / bandwidth and flops / flops per second
  double intensity() const { return flops / (weight_bytes + cache_bytes); }
};

/// Operations of attention for one further token when the question's tokens are cached: for each
/// layer 2 * 2 * heads * head_dim * rows (scores and mixing). Latent rows count as they are, which
/// is what decoding with them does.
double attention_flops(const CacheSpec& spec, const Lengths& lengths);

/// Operations of a prefill of the question's tokens, all sequences: 2 * parameters * tokens and,
/// for attention, the sum over rows seen by each token.
double prefill_flops(const CacheSpec& spec, const Lengths& lengths, double parameters);

/// Bounds, not predictions: nothing overlaps worse than perfectly. Williams, Waterman, Patterson
/// 2009 (roofline); Pope et al. 2022 (arXiv:2211.05102) section 2 for decoding.
DecodeStep decode_step(const CacheSpec& spec, const CacheQuestion& question,
                       const StepWeights& weights, const MachineRates& machine);

/// The smallest batch whose cache is read in more bytes than the weights; nothing where that never
/// comes.
std::optional<Index> batch_where_cache_dominates(const CacheSpec& spec, CacheQuestion question,
                                                 const StepWeights& weights);

/// The largest batch that still gives each sequence `rate` tokens a second by those bounds; 0 where
/// not even one gets it.
Index largest_batch_at_rate(const CacheSpec& spec, CacheQuestion question,
                            const StepWeights& weights, const MachineRates& machine, double rate);

}  // namespace attn
