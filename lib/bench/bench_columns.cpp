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
    real.push_back(count ? static_cast<double>(*count) : std::numeric_limits<double>::quiet_NaN());
  }
  if (whole.size() == counts.size()) {
    writer.dataset(path, shape, whole.data());
  } else {
    writer.dataset(path, shape, real.data());
  }
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
