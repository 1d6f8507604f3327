#pragma once

#include <string>
#include <vector>

#include "bench/bench_columns.h"
#include "bench/serving_experiment.h"

namespace attn {

/// The rows as columns: the way, what was counted and, with `timed`, what was measured. row_bytes:
/// of a row's keys and values.
std::vector<BenchColumn> serving_columns(const ServingExperiment& experiment, Index row_bytes,
                                         bool timed);

/// write_columns(), the load as datasets of /requests (prompt, new_tokens, arrival), the steps that
/// each took in each way as /requests/steps_to_finish (ways, requests), and where there are any the
/// samples as /results/samples_ns and /results/cpu_samples_ns.
void write_serving(Hdf5Writer& writer, const BenchContext& context,
                   const std::vector<BenchColumn>& columns, const ServingExperiment& experiment);

/// Conclusions, a line each: how many sequences each way holds at a time and what that does to
/// steps and time, and what a shared prefix saves.
std::vector<std::string> serving_lines(const ServingExperiment& experiment);

}  // namespace attn
