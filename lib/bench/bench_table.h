#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bench/cache_experiment.h"
#include "bench/machine.h"
#include "core/index.h"

namespace attn {

class Hdf5Writer;

/// A fact about a whole report: where and how it was measured.
using BenchFact = std::variant<Index, double, std::string>;
using BenchContext = std::vector<std::pair<std::string, BenchFact>>;

/// One column of a report. All columns of a report have as many values as it has rows; what was
/// not measured is nothing, or NaN.
struct BenchColumn {
  using Texts = std::vector<std::string>;
  using Counts = std::vector<std::optional<Index>>;
  using Reals = std::vector<double>;

  std::string name;  // as in files and machine-readable reports
  std::variant<Texts, Counts, Reals> values;
};

/// The rows as columns: what was processed, what was counted and, with `timed`, what was measured.
/// The same columns in the same order whatever the rows hold.
std::vector<BenchColumn> bench_columns(const CacheExperiment& experiment, bool timed);

/// What the machine and the build add to a context.
void add_machine(BenchContext& context, const Machine& machine);

/// Writes the context as root attributes, each column as a one-dimensional dataset of /results
/// (absent counts make a column of f64 with NaN), and the samples as (rows, repeats) datasets
/// samples_ns and cpu_samples_ns where there are any.
void write_bench(Hdf5Writer& writer, const BenchContext& context,
                 const std::vector<BenchColumn>& columns, const std::vector<CacheRow>& rows);

}  // namespace attn
