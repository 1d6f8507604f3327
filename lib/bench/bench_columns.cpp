#include "bench/bench_columns.h"

#include <cstdint>
#include <limits>

#include "core/error.h"
#include "io/hdf5_writer.h"
#include "ops/gemm.h"

namespace attn {
namespace {

void write_column(Hdf5Writer& writer, const BenchColumn& column) {
  const std::string path = "/results/" + column.name;
  if (const auto* texts = std::get_if<BenchColumn::Texts>(&column.values)) {
    writer.labels(path, *texts);
    return;
  }
  const auto write = [&](const auto& numbers) {
    writer.dataset(path, {static_cast<Index>(numbers.size())}, numbers.data());
  };
  if (const auto* reals = std::get_if<BenchColumn::Reals>(&column.values)) return write(*reals);
  if (const auto* counts = std::get_if<BenchColumn::Counts>(&column.values)) {
    return write(std::vector<std::int64_t>(counts->begin(), counts->end()));
  }
  std::vector<double> numbers;
  for (const std::optional<Index>& count : std::get<BenchColumn::OptionalCounts>(column.values)) {
    numbers.push_back(count ? static_cast<double>(*count)
                            : std::numeric_limits<double>::quiet_NaN());
  }
  write(numbers);
}

}  // namespace

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

void write_columns(Hdf5Writer& writer, const BenchContext& context,
                   const std::vector<BenchColumn>& columns) {
  for (const auto& [name, fact] : context) {
    const std::string& attribute = name;
    std::visit([&](const auto& value) { writer.attribute("/", attribute, value); }, fact);
  }
  for (const BenchColumn& column : columns) write_column(writer, column);
}

void write_samples(Hdf5Writer& writer, const std::string& path,
                   const std::vector<const Samples*>& rows) {
  std::vector<std::int64_t> all;
  for (const Samples* row : rows) {
    require_shape(row->count() == rows.front()->count(), "bench: rows of unequal samples");
    all.insert(all.end(), row->values().begin(), row->values().end());
  }
  const auto count = static_cast<Index>(rows.size());
  writer.dataset(path, {count, static_cast<Index>(all.size()) / count}, all.data());
}

}  // namespace attn
