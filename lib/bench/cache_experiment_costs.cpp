// What the rows of an experiment cost, and what the machine gives: nothing here runs a subject.

#include <algorithm>
#include <cmath>
#include <map>

#include "bench/cache_experiment.h"
#include "bench/yardsticks.h"
#include "core/error.h"

namespace attn {
namespace {

// Eight sizes an octave: a sweep over many lengths would else take longer than what it is held to.
Index near_size(Index bytes) {
  const double octaves = std::round(8 * std::log2(static_cast<double>(bytes))) / 8;
  return static_cast<Index>(std::exp2(octaves));
}

Index counted_bytes(Index bytes, Index times) {
  const auto all = checked_mul(bytes, times);
  if (!all) throw UsageError("the bytes that so many tokens read leave 63 bits");
  return *all;
}

// Operations of a plan's steps, each sum beginning anew: of step 0, and of the first one after it.
struct FlopSums {
  std::vector<double> from_first, after_first;

  FlopSums(const DecodeSubject& subject, bool cached, Index first, Index steps) {
    double all = 0;
    double others = 0;
    for (Index step = 0; step < steps; ++step) {
      const Index length = first + step;
      const Index past = !cached || step == 0 ? 0 : length - 1;
      const double flops = subject.flops(past, length - past);
      from_first.push_back(all += flops);
      after_first.push_back(step == 0 ? 0 : others += flops);
    }
  }
};

}  // namespace

// What can be said without running: operations, and the bytes that cached decoding reads.
void CacheExperiment::set_costs(Index index, Index prompt) {
  const DecodeSubject& one = subject(index);
  for (const bool cached : {true, false}) {
    std::vector<const Way*> ways;
    Index steps = 0;
    for (const Way& way : ways_) {
      if (way.subject != index || way.work.prompt != prompt || way.plan.cache.cached() != cached)
        continue;
      ways.push_back(&way);
      steps = std::max(steps, way.plan.steps());
    }
    const FlopSums sums(one, cached, DecodeWork{prompt, 1}.first(), steps);
    for (const Way* way : ways) {
      const auto last = static_cast<std::size_t>(way->plan.steps() - 1);
      for (std::size_t r = way->first_row; r < way->first_row + way->row_count; ++r) {
        CacheRow& row = rows_[r];
        const bool after_prefill = row.phase == "decode" && prompt > 0;
        if (way->one_pass) {
          row.flops = one.flops(0, way->plan.total);
        } else if (row.phase == "prefill") {
          row.flops = sums.from_first.front();
        } else {
          row.flops = after_prefill ? sums.after_first[last] : sums.from_first[last];
        }
        if (!cached || row.phase != "decode") continue;
        const Index from = after_prefill ? way->plan.first + 1 : 1;
        row.kv_bytes_read = counted_bytes(one.token_bytes(way->plan.cache),
                                          keys_seen(from, way->plan.total, one.window()));
        row.weight_bytes_read = counted_bytes(one.weight_bytes(), way->plan.total - from + 1);
      }
    }
  }
}

void CacheExperiment::add_yardsticks(int threads, Index last_level_bytes) {
  std::map<Index, double> measured;
  for (CacheRow& row : rows_) {
    if (!row.kv_bytes_read) continue;
    const Index bytes = near_size(working_set(row));
    const auto known = measured.find(bytes);
    row.reference_bandwidth =
        known != measured.end() ? known->second : read_bandwidth(bytes, threads);
    measured[bytes] = *row.reference_bandwidth;
  }
  Yardsticks found;
  // Several times what the caches hold, in bounds for a machine that reports hundreds of MiB.
  found.memory_sweep_bytes = std::clamp(4 * last_level_bytes, Index{64} << 20, Index{512} << 20);
  found.memory_bandwidth = read_bandwidth(found.memory_sweep_bytes, threads);
  found.sgemm_peak = sgemm_peak(threads);
  yardsticks_ = found;
}

}  // namespace attn
