#pragma once

#include <vector>

#include "bench/bench_columns.h"
#include "bench/cache_experiment.h"

namespace attn {

class Hdf5Writer;

/// The rows as columns: what was processed, what was counted and, with `timed`, what was measured.
/// The same columns in the same order whatever the rows hold.
std::vector<BenchColumn> bench_columns(const CacheExperiment& experiment, bool timed);

/// write_columns(), and the samples as datasets samples_ns and cpu_samples_ns of /results where
/// there are any.
void write_bench(Hdf5Writer& writer, const BenchContext& context,
                 const std::vector<BenchColumn>& columns, const std::vector<CacheRow>& rows);

}  // namespace attn
