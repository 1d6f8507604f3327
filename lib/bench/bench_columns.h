#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bench/machine.h"
#include "bench/samples.h"
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
  using Counts = std::vector<Index>;
  /// Counts that a row may be without: in a file they are f64, with NaN, whatever the rows hold.
  using OptionalCounts = std::vector<std::optional<Index>>;
  using Reals = std::vector<double>;

  std::string name;  // as in files and machine-readable reports
  std::variant<Texts, Counts, OptionalCounts, Reals> values;
};

/// Builds columns out of one value per row.
template <class Row>
class ColumnBuilder {
 public:
  explicit ColumnBuilder(std::span<const Row> rows) : rows_(rows) {}

  template <class Values, class Value>
  void add(std::string name, Value value) {
    Values values;
    values.reserve(rows_.size());
    for (const Row& row : rows_) values.push_back(value(row));
    columns_.push_back({std::move(name), std::move(values)});
  }
  std::vector<BenchColumn> take() { return std::move(columns_); }

 private:
  std::span<const Row> rows_;
  std::vector<BenchColumn> columns_;
};

/// What the machine and the build add to a context.
void add_machine(BenchContext& context, const Machine& machine);

/// Writes the context as root attributes and each column as a one-dimensional dataset of /results
/// (int64, or f64 where a row may be without).
void write_columns(Hdf5Writer& writer, const BenchContext& context,
                   const std::vector<BenchColumn>& columns);

/// Writes the samples of all rows as a (rows, repeats) dataset. Throws ShapeError where one has
/// more of them than another.
void write_samples(Hdf5Writer& writer, const std::string& path,
                   const std::vector<const Samples*>& rows);

}  // namespace attn
