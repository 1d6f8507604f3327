#pragma once

#include <span>
#include <vector>

#include "bench/bench_columns.h"
#include "bench/cache_experiment.h"

namespace attn {

class Hdf5Writer;

/// The rows as columns: what was processed, what was counted and, with `timed`, what was measured.
/// The same columns in the same order whatever the rows hold.
std::vector<BenchColumn> bench_columns(const CacheExperiment& experiment, bool timed);
/// Of some of the experiment's rows: a long sweep is written block by block.
std::vector<BenchColumn> bench_columns(const CacheExperiment& experiment,
                                       std::span<const CacheRow> rows, bool timed);

/// write_columns(), and in /results where there are any: the samples as datasets samples_ns and
/// cpu_samples_ns (rows, repeats), and step_median_ns (rows, most steps), NaN behind the last step
/// of a row that decodes and in all of the others.
void write_bench(Hdf5Writer& writer, const BenchContext& context,
                 const std::vector<BenchColumn>& columns, const std::vector<CacheRow>& rows);

}  // namespace attn
