#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/decode_plan.h"
#include "bench/samples.h"

namespace attn {

/// One line of the report: a phase of one way of processing one piece of work.
///   prefill  the prompt in one step; without a prompt, all tokens in one step
///   decode   the tokens after it, one by one
///   total    both, where there is a prompt
struct CacheRow {
  std::string phase;
  Index subject = 0;  // which of the subjects
  Index kv_heads = 1;
  CacheWay cache;
  DecodeWork work;
  Index tokens = 0;  // of this phase; of the total, the new ones

  Index key_rows = 0;           // counted by the layers
  Index key_rows_expected = 0;  // by the formula
  std::string formula;          // "n(n+1)/2"

  Index cache_bytes = 0;                   // of the rows in use at the end
  Index allocated_bytes = 0;               // that the cache took for them
  std::optional<Index> kv_bytes_read;      // by cached decoding: every step reads what it sees
  std::optional<Index> weight_bytes_read;  // and all matrices once
  double flops = 0;  // operations of matrices and of the keys that are seen, a multiply-add two

  /// Largest difference of an output from that of the first way of the same types; none for the
  /// first way itself.
  std::optional<double> max_difference;
  /// Where numbers are not stored as computed: the largest difference of an output from what exact
  /// storage gives, as a share of the largest output. What a type costs: nobody judges it here.
  std::optional<double> storage_error;
  Samples wall, cpu;  // nanoseconds; empty before they were measured
  /// Of a decode row: nanoseconds of each of its steps, one by one.
  std::vector<Samples> steps;
  /// Bytes a second of a read sweep over what the last step reads (yardsticks.h).
  std::optional<double> reference_bandwidth;

  double tokens_per_second() const { return static_cast<double>(tokens) * 1e9 / wall.median(); }
  double ns_per_token() const { return wall.median() / static_cast<double>(tokens); }
  /// Steps of this phase: as many as tokens, but prefill is one.
  Index step_count() const { return phase == "prefill" ? 1 : tokens; }
  /// Mean over the steps; nothing where bytes are not counted.
  std::optional<double> bytes_per_step() const;
  /// Bytes a second that decoding reads; nothing where bytes are not counted.
  std::optional<double> bandwidth() const;
  std::vector<double> step_medians() const;
  double flops_per_second() const { return flops * 1e9 / wall.median(); }
};

/// Rows through each key projection that a phase takes, as one would write it down: not by what a
/// plan would run. Throws UsageError where a product of the tokens leaves 63 bits.
struct KeyRowFormula {
  Index rows = 0;
  std::string_view text;
};
KeyRowFormula key_row_formula(std::string_view phase, bool cached, const DecodeWork& work);

}  // namespace attn
