#include "bench/bench_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bench/layer_subject.h"
#include "io/hdf5_reader.h"
#include "io/hdf5_writer.h"

namespace attn {
namespace {

CacheExperiment small_experiment() {
  std::vector<std::unique_ptr<DecodeSubject>> subjects;
  subjects.push_back(std::make_unique<LayerSubject>(LayerShape{8, 2, 1, 4}, 6, 1, 0));
  CacheExperiment experiment(std::move(subjects), {{0, 6}, {3, 2}},
                             {CacheKind::kContiguous, CacheKind::kNone});
  experiment.verify();
  return experiment;
}

Hdf5Reader written(const CacheExperiment& experiment, bool timed) {
  Hdf5Writer writer;
  write_bench(writer, {{"threads", Index{2}}, {"load_average", 0.25}, {"cpu", std::string("X")}},
              bench_columns(experiment, timed), experiment.rows());
  const Hdf5Image image = writer.finish();
  return Hdf5Reader::from_bytes({image.bytes().begin(), image.bytes().end()}, "bench");
}

TEST(BenchTable, ColumnsHaveOneValuePerRowAndTheSameNamesAlways) {
  const CacheExperiment experiment = small_experiment();
  for (const bool timed : {false, true}) {
    for (const BenchColumn& column : bench_columns(experiment, timed)) {
      const std::size_t size =
          std::visit([](const auto& values) { return values.size(); }, column.values);
      EXPECT_EQ(size, experiment.rows().size()) << column.name;
    }
  }
  EXPECT_LT(bench_columns(experiment, false).size(), bench_columns(experiment, true).size());
}

TEST(BenchTable, FileHoldsColumnsContextAndEverySample) {
  CacheExperiment experiment = small_experiment();
  experiment.measure({.warmup = 0, .repeats = 3, .seed = 0}, {});
  const Hdf5Reader reader = written(experiment, true);
  const auto rows = static_cast<Index>(experiment.rows().size());
  ASSERT_EQ(rows, 3 + 3 + 3);
  EXPECT_EQ(reader.int_attribute("/", "threads"), 2);
  EXPECT_EQ(reader.real_attribute("/", "load_average"), 0.25);
  EXPECT_EQ(reader.text_attribute("/", "cpu"), "X");
  const Tensor<std::int64_t> key_rows = reader.read<std::int64_t>("/results/key_rows");
  const Tensor<double> bytes_read = reader.read<double>("/results/kv_bytes_read");
  const Tensor<std::int64_t> samples = reader.read<std::int64_t>("/results/samples_ns");
  EXPECT_EQ(key_rows.shape, Shape{rows});
  EXPECT_EQ(bytes_read.shape, Shape{rows});
  EXPECT_EQ(samples.shape, (Shape{rows, 3}));
  for (Index i = 0; i < rows; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const CacheRow& row = experiment.rows()[at];
    EXPECT_EQ(key_rows.values[at], row.key_rows) << "row " << i;
    EXPECT_EQ(std::isnan(bytes_read.values[at]), !row.kv_bytes_read.has_value()) << "row " << i;
    for (std::size_t s = 0; s < 3; ++s) {
      EXPECT_EQ(samples.values[at * 3 + s], row.wall.values()[s]) << "row " << i << " sample " << s;
    }
  }
}

TEST(BenchTable, WithoutTimesNothingOfTimeIsWritten) {
  const Hdf5Reader reader = written(small_experiment(), false);
  EXPECT_TRUE(reader.has_dataset("/results/key_rows"));
  EXPECT_FALSE(reader.has_dataset("/results/samples_ns"));
  EXPECT_FALSE(reader.has_dataset("/results/median_ns"));
}

}  // namespace
}  // namespace attn
