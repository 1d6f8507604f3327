#include "bench/bench_table.h"

#include <algorithm>
#include <limits>
#include <string>

#include "io/hdf5_writer.h"

namespace attn {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

// The median time of every step of every decode row, as long as the longest; NaN where there is
// none.
void write_steps(Hdf5Writer& writer, const std::vector<CacheRow>& rows) {
  std::size_t longest = 0;
  for (const CacheRow& row : rows) longest = std::max(longest, row.steps.size());
  if (longest == 0) return;
  std::vector<double> all;
  for (const CacheRow& row : rows) {
    const std::vector<double> medians = row.step_medians();
    all.insert(all.end(), medians.begin(), medians.end());
    all.resize(all.size() + longest - medians.size(), kNothing);
  }
  writer.dataset("/results/step_median_ns",
                 {static_cast<Index>(rows.size()), static_cast<Index>(longest)}, all.data());
}

}  // namespace

std::vector<BenchColumn> bench_columns(const CacheExperiment& experiment, bool timed) {
  return bench_columns(experiment, experiment.rows(), timed);
}

std::vector<BenchColumn> bench_columns(const CacheExperiment& experiment,
                                       std::span<const CacheRow> rows, bool timed) {
  using Texts = BenchColumn::Texts;
  using Counts = BenchColumn::Counts;
  using OptionalCounts = BenchColumn::OptionalCounts;
  using Reals = BenchColumn::Reals;
  ColumnBuilder<CacheRow> table(rows);
  table.add<Texts>("phase", [](const CacheRow& row) { return row.phase; });
  table.add<Counts>("kv_heads", [](const CacheRow& row) { return row.kv_heads; });
  table.add<Texts>("cache",
                   [](const CacheRow& row) { return std::string(cache_name(row.cache.kind)); });
  table.add<Counts>("prompt", [](const CacheRow& row) { return row.work.prompt; });
  table.add<Counts>("new_tokens", [](const CacheRow& row) { return row.work.new_tokens; });
  table.add<Counts>("tokens", [](const CacheRow& row) { return row.tokens; });
  table.add<Counts>("key_rows", [](const CacheRow& row) { return row.key_rows; });
  table.add<Counts>("key_rows_expected", [](const CacheRow& row) { return row.key_rows_expected; });
  table.add<Texts>("key_rows_formula", [](const CacheRow& row) { return row.formula; });
  table.add<Counts>("cache_bytes", [](const CacheRow& row) { return row.cache_bytes; });
  table.add<Counts>("cache_allocated_bytes",
                    [](const CacheRow& row) { return row.allocated_bytes; });
  table.add<OptionalCounts>("kv_bytes_read", [](const CacheRow& row) { return row.kv_bytes_read; });
  table.add<OptionalCounts>("weight_bytes_read",
                            [](const CacheRow& row) { return row.weight_bytes_read; });
  table.add<Texts>("k_dtype",
                   [](const CacheRow& row) { return kv_type_name(row.cache.types.keys); });
  table.add<Texts>("v_dtype",
                   [](const CacheRow& row) { return kv_type_name(row.cache.types.values); });
  table.add<Counts>("window",
                    [&](const CacheRow& row) { return experiment.subject(row).window(); });
  table.add<Reals>("bytes_read_per_step",
                   [](const CacheRow& row) { return row.bytes_per_step().value_or(kNothing); });
  table.add<Reals>("flops", [](const CacheRow& row) { return row.flops; });
  if (!timed) return table.take();
  const double peak = experiment.yardsticks() ? experiment.yardsticks()->sgemm_peak : kNothing;
  table.add<Reals>("max_difference",
                   [](const CacheRow& row) { return row.max_difference.value_or(kNothing); });
  table.add<Reals>("storage_error",
                   [](const CacheRow& row) { return row.storage_error.value_or(kNothing); });
  table.add<Reals>("median_ns", [](const CacheRow& row) { return row.wall.median(); });
  table.add<Reals>("min_ns", [](const CacheRow& row) { return row.wall.minimum(); });
  table.add<Reals>("iqr_ns", [](const CacheRow& row) { return row.wall.iqr(); });
  table.add<Reals>("cpu_median_ns", [](const CacheRow& row) { return row.cpu.median(); });
  table.add<Reals>("tokens_per_second",
                   [](const CacheRow& row) { return row.tokens_per_second(); });
  table.add<Reals>("ns_per_token", [](const CacheRow& row) { return row.ns_per_token(); });
  table.add<Reals>("read_bytes_per_second",
                   [](const CacheRow& row) { return row.bandwidth().value_or(kNothing); });
  table.add<Reals>("reference_bytes_per_second",
                   [](const CacheRow& row) { return row.reference_bandwidth.value_or(kNothing); });
  table.add<Reals>("share_of_reference", [](const CacheRow& row) {
    return row.bandwidth().value_or(kNothing) / row.reference_bandwidth.value_or(kNothing);
  });
  table.add<Reals>("flops_per_second", [](const CacheRow& row) { return row.flops_per_second(); });
  table.add<Reals>("share_of_sgemm_peak",
                   [&](const CacheRow& row) { return row.flops_per_second() / peak; });
  return table.take();
}

void write_bench(Hdf5Writer& writer, const BenchContext& context,
                 const std::vector<BenchColumn>& columns, const std::vector<CacheRow>& rows) {
  write_columns(writer, context, columns);
  if (rows.empty() || rows.front().wall.count() == 0) return;
  std::vector<const Samples*> wall;
  std::vector<const Samples*> cpu;
  for (const CacheRow& row : rows) {
    wall.push_back(&row.wall);
    cpu.push_back(&row.cpu);
  }
  write_samples(writer, "/results/samples_ns", wall);
  write_samples(writer, "/results/cpu_samples_ns", cpu);
  write_steps(writer, rows);
}

}  // namespace attn
