#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "bench/agreement.h"
#include "bench/cache_row.h"
#include "bench/decode_plan.h"
#include "bench/decode_subject.h"
#include "bench/interleave.h"
#include "bench/output_difference.h"

namespace attn {

/// What this machine gave while it was measured.
struct Yardsticks {
  double memory_bandwidth = 0;  // bytes a second of a sweep over what no cache holds
  Index memory_sweep_bytes = 0;
  double sgemm_peak = 0;  // operations a second
};

/// Decoding with and without a cache: rows counted, outputs compared, times taken.
class CacheExperiment {
 public:
  /// The subjects differ in their key-value heads. caches: the ways to compare, the first being
  /// the one the others are held against.
  CacheExperiment(std::vector<std::unique_ptr<DecodeSubject>> subjects,
                  std::vector<DecodeWork> work, std::vector<CacheWay> caches);

  /// Runs every way once, counts key rows and, unless the outputs mean nothing, compares them. Work
  /// that is the beginning of other work is not run again: its counts are those after its last
  /// step.
  void verify(bool outputs = true);
  /// Takes times: all ways of all work in interleaved rounds, each timed run counted again.
  /// progress(done, all) may be empty.
  void measure(const Interleaving& how, const std::function<void(Index, Index)>& progress);
  /// Measures what the memory can give to working sets of the rows' sizes, and to large ones, and
  /// what gemm can reach. last_level_bytes: of the largest cache of the processor.
  void add_yardsticks(int threads, Index last_level_bytes = 0);
  const std::optional<Yardsticks>& yardsticks() const { return yardsticks_; }

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

  void add_way(Index subject, const DecodeWork& work, const CacheWay& cache, bool one_pass);
  struct Group;
  void verify_group(Index subject, Index prompt, bool compare);
  void verify_steps(Group& group, const CacheWay& cache, bool compare);
  void verify_one_pass(const Group& group, const Way& way, bool compare);
  void compare_storage(Group& group);
  void set_costs(Index subject, Index prompt);
  void set_counts(const Way& way, StepCount first, StepCount last);
  void set_difference(const Way& way, const OutputDifference& found, double share);
  void set_storage_error(const Way& way, double error);
  DecodeSubject& subject(Index index) { return *subjects_[static_cast<std::size_t>(index)]; }

  std::vector<std::unique_ptr<DecodeSubject>> subjects_;
  std::vector<DecodeWork> work_;
  std::vector<CacheWay> caches_;
  std::vector<Way> ways_;
  std::vector<CacheRow> rows_;
  Agreement agreement_;
  std::optional<Yardsticks> yardsticks_;
};

}  // namespace attn
