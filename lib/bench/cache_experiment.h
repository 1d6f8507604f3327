#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/decode_plan.h"
#include "bench/decode_subject.h"
#include "bench/interleave.h"
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
  CacheKind cache = CacheKind::kContiguous;
  DecodeWork work;
  Index tokens = 0;  // of this phase; of the total, the new ones

  Index key_rows = 0;           // counted by the layers
  Index key_rows_expected = 0;  // by the formula
  std::string formula;          // "n(n+1)/2"

  Index cache_bytes = 0;                   // of the rows held at the end
  Index allocated_bytes = 0;               // that the cache took for them
  std::optional<Index> kv_bytes_read;      // by cached decoding: every step reads the whole cache
  std::optional<Index> weight_bytes_read;  // and all matrices once

  /// Largest difference of an output from the first way's; none for the first way itself.
  std::optional<double> max_difference;
  Samples wall, cpu;  // nanoseconds; empty before they were measured
  /// Bytes a second of a read sweep over what the last step reads (yardsticks.h).
  std::optional<double> reference_bandwidth;

  double tokens_per_second() const { return static_cast<double>(tokens) * 1e9 / wall.median(); }
  /// Bytes a second that decoding reads; nothing where bytes are not counted.
  std::optional<double> bandwidth() const;
};

/// Whether the ways of processing agree.
struct Agreement {
  bool counts = true;         // every counter gave what its formula says
  bool outputs = true;        // every difference is within its bound
  bool compared = false;      // were there two ways to compare?
  double max_difference = 0;  // of any output
  double bound = 0;           // of the comparison that came nearest to its bound, or passed it
};

/// Largest difference allowed, as a share of the largest output: cached and uncached passes sum in
/// float in different orders.
inline constexpr double kOutputBound = 1e-5;

/// Decoding with and without a cache: rows counted, outputs compared, times taken.
class CacheExperiment {
 public:
  /// The subjects differ in their key-value heads. caches: the ways to compare, the first being
  /// the one the others are held against.
  CacheExperiment(std::vector<std::unique_ptr<DecodeSubject>> subjects,
                  std::vector<DecodeWork> work, std::vector<CacheKind> caches);

  /// Runs every way once, counts key rows and compares outputs. Work that is the beginning of other
  /// work is not run again: its counts are those after its last step.
  void verify();
  /// Takes times: all ways of all work in interleaved rounds, each timed run counted again.
  /// progress(done, all) may be empty.
  void measure(const Interleaving& how, const std::function<void(Index, Index)>& progress);
  /// Measures what the memory can give to working sets of the rows' sizes.
  void add_yardsticks(int threads);

  const std::vector<CacheRow>& rows() const { return rows_; }
  const Agreement& agreement() const { return agreement_; }
  const DecodeSubject& subject(const CacheRow& row) const {
    return *subjects_[static_cast<std::size_t>(row.subject)];
  }
  /// Bytes that the last step of a row reads: matrices and cache.
  Index working_set(const CacheRow& row) const {
    return row.cache_bytes + subject(row).weight_bytes();
  }

 private:
  // A plan and where its phases stand among the rows.
  struct Way {
    Index subject = 0;
    DecodeWork work;
    DecodePlan plan;
    bool one_pass = false;
    std::size_t first_row = 0;
    std::size_t row_count = 0;
  };

  void add_way(Index subject, const DecodeWork& work, CacheKind cache, bool one_pass);
  void verify_group(Index subject, Index prompt);
  void set_counts(const Way& way, const std::vector<StepCount>& counts);
  void set_difference(const Way& way, double difference, double bound);
  DecodeSubject& subject(Index index) { return *subjects_[static_cast<std::size_t>(index)]; }

  std::vector<std::unique_ptr<DecodeSubject>> subjects_;
  std::vector<DecodeWork> work_;
  std::vector<CacheKind> caches_;
  std::vector<Way> ways_;
  std::vector<CacheRow> rows_;
  Agreement agreement_;
};

}  // namespace attn
