#include "bench/bench_table.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>

#include "io/hdf5_writer.h"
#include "ops/gemm.h"

namespace attn {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

// Builds columns out of one value per row.
class ColumnBuilder {
 public:
  explicit ColumnBuilder(const std::vector<CacheRow>& rows) : rows_(rows) {}

  template <class Values, class Value>
  void add(std::string name, Value value) {
    Values values;
    for (const CacheRow& row : rows_) values.push_back(value(row));
    columns_.push_back({std::move(name), std::move(values)});
  }
  std::vector<BenchColumn> take() { return std::move(columns_); }

 private:
  const std::vector<CacheRow>& rows_;
  std::vector<BenchColumn> columns_;
};

void write_column(Hdf5Writer& writer, const BenchColumn& column) {
  const std::string path = "/results/" + column.name;
  if (const auto* texts = std::get_if<BenchColumn::Texts>(&column.values)) {
    writer.labels(path, *texts);
    return;
  }
  if (const auto* reals = std::get_if<BenchColumn::Reals>(&column.values)) {
    writer.dataset(path, {static_cast<Index>(reals->size())}, reals->data());
    return;
  }
  const auto& counts = std::get<BenchColumn::Counts>(column.values);
  const Shape shape = {static_cast<Index>(counts.size())};
  std::vector<std::int64_t> whole;
  std::vector<double> real;
  for (const std::optional<Index>& count : counts) {
    if (count) whole.push_back(*count);
    real.push_back(count ? static_cast<double>(*count) : kNothing);
  }
  if (whole.size() == counts.size()) {
    writer.dataset(path, shape, whole.data());
  } else {
    writer.dataset(path, shape, real.data());
  }
}

void write_samples(Hdf5Writer& writer, const std::string& path, const std::vector<CacheRow>& rows,
                   Samples CacheRow::*which) {
  std::vector<std::int64_t> all;
  for (const CacheRow& row : rows) {
    const std::vector<std::int64_t>& values = (row.*which).values();
    all.insert(all.end(), values.begin(), values.end());
  }
  const auto count = static_cast<Index>(rows.size());
  writer.dataset(path, {count, static_cast<Index>(all.size()) / count}, all.data());
}

}  // namespace

std::vector<BenchColumn> bench_columns(const CacheExperiment& experiment, bool timed) {
  using Texts = BenchColumn::Texts;
  using Counts = BenchColumn::Counts;
  using Reals = BenchColumn::Reals;
  ColumnBuilder table(experiment.rows());
  table.add<Texts>("phase", [](const CacheRow& row) { return row.phase; });
  table.add<Counts>("kv_heads", [](const CacheRow& row) { return row.kv_heads; });
  table.add<Texts>("cache", [](const CacheRow& row) { return std::string(cache_name(row.cache)); });
  table.add<Counts>("prompt", [](const CacheRow& row) { return row.work.prompt; });
  table.add<Counts>("new_tokens", [](const CacheRow& row) { return row.work.new_tokens; });
  table.add<Counts>("tokens", [](const CacheRow& row) { return row.tokens; });
  table.add<Counts>("key_rows", [](const CacheRow& row) { return row.key_rows; });
  table.add<Counts>("key_rows_expected", [](const CacheRow& row) { return row.key_rows_expected; });
  table.add<Texts>("key_rows_formula", [](const CacheRow& row) { return row.formula; });
  table.add<Counts>("cache_bytes", [](const CacheRow& row) { return row.cache_bytes; });
  table.add<Counts>("cache_allocated_bytes",
                    [](const CacheRow& row) { return row.allocated_bytes; });
  table.add<Counts>("kv_bytes_read", [](const CacheRow& row) { return row.kv_bytes_read; });
  table.add<Counts>("weight_bytes_read", [](const CacheRow& row) { return row.weight_bytes_read; });
  if (!timed) return table.take();
  table.add<Reals>("max_difference",
                   [](const CacheRow& row) { return row.max_difference.value_or(kNothing); });
  table.add<Reals>("median_ns", [](const CacheRow& row) { return row.wall.median(); });
  table.add<Reals>("min_ns", [](const CacheRow& row) { return row.wall.minimum(); });
  table.add<Reals>("iqr_ns", [](const CacheRow& row) { return row.wall.iqr(); });
  table.add<Reals>("cpu_median_ns", [](const CacheRow& row) { return row.cpu.median(); });
  table.add<Reals>("tokens_per_second",
                   [](const CacheRow& row) { return row.tokens_per_second(); });
  table.add<Reals>("read_bytes_per_second",
                   [](const CacheRow& row) { return row.bandwidth().value_or(kNothing); });
  table.add<Reals>("reference_bytes_per_second",
                   [](const CacheRow& row) { return row.reference_bandwidth.value_or(kNothing); });
  return table.take();
}

void add_machine(BenchContext& context, const Machine& machine) {
  context.emplace_back("build_type", build_type());
  context.emplace_back("compiler", compiler());
  context.emplace_back("blas", blas_description());
  context.emplace_back("cpu", machine.cpu);
  context.emplace_back("cores", Index{machine.cores});
  context.emplace_back("l1_data_bytes", machine.l1_data_bytes);
  context.emplace_back("l2_bytes", machine.l2_bytes);
  context.emplace_back("l3_bytes", machine.l3_bytes);
  context.emplace_back("load_average", machine.load);
}

void write_bench(Hdf5Writer& writer, const BenchContext& context,
                 const std::vector<BenchColumn>& columns, const std::vector<CacheRow>& rows) {
  for (const auto& [name, fact] : context) {
    const std::string& attribute = name;
    std::visit([&](const auto& value) { writer.attribute("/", attribute, value); }, fact);
  }
  for (const BenchColumn& column : columns) write_column(writer, column);
  if (rows.empty() || rows.front().wall.count() == 0) return;
  write_samples(writer, "/results/samples_ns", rows, &CacheRow::wall);
  write_samples(writer, "/results/cpu_samples_ns", rows, &CacheRow::cpu);
}

}  // namespace attn
