#include "bench/serving_table.h"

#include <fmt/core.h>

#include <cstdint>
#include <limits>
#include <optional>

#include "core/counted.h"
#include "core/text.h"
#include "io/hdf5_writer.h"

namespace attn {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

const ServingRow* row_of(const ServingExperiment& experiment, ServingWay way) {
  for (const ServingRow& row : experiment.rows()) {
    if (row.settings.way == way) return &row;
  }
  return nullptr;
}

// How the second way does beside the first, whose memory is as large.
std::string beside(const ServingRow& row, const ServingRow& other) {
  const auto ratio = [](double a, double b) { return fmt::format("{:.2f} times", a / b); };
  std::string line =
      fmt::format("{}: up to {} at a time where {} serves {}, {} the steps",
                  serving_way_name(row.settings.way), counted(row.run.most_running, "sequence"),
                  serving_way_name(other.settings.way), grouped(other.run.most_running),
                  ratio(static_cast<double>(row.run.steps), static_cast<double>(other.run.steps)));
  if (row.wall.count() > 0)
    line += fmt::format(", {} the time", ratio(row.wall.median(), other.wall.median()));
  return line;
}

std::string saving(const ServingExperiment& experiment, const ServingRow& shared) {
  const ServingLoad& load = experiment.load();
  const Index rows = shared_rows(load, shared.settings.page_size);
  if (rows == 0) {
    return fmt::format("the shared prefix of {} tokens fills no page of {}: nothing is shared",
                       grouped(load.shared_prefix), grouped(shared.settings.page_size));
  }
  const Index saved = rows * (load.count() - 1);
  return fmt::format(
      "{} tokens of the prefix are held once: {} of {} key rows ({:.0f} %) were not computed again",
      grouped(rows), grouped(saved), grouped(load.rows()),
      100 * static_cast<double>(saved) / static_cast<double>(load.rows()));
}

std::vector<Index> of_requests(const ServingLoad& load, Index ServingRequest::*field) {
  std::vector<Index> values;
  for (const ServingRequest& one : load.requests) values.push_back(one.*field);
  return values;
}

}  // namespace

std::vector<BenchColumn> serving_columns(const ServingExperiment& experiment, Index row_bytes,
                                         bool timed) {
  using Texts = BenchColumn::Texts;
  using Counts = BenchColumn::Counts;
  using OptionalCounts = BenchColumn::OptionalCounts;
  using Reals = BenchColumn::Reals;
  const ServingLoad& load = experiment.load();
  ColumnBuilder<ServingRow> table(experiment.rows());
  const auto count = [&table](const char* name, Index ServingRun::*field) {
    table.add<Counts>(name, [field](const ServingRow& row) { return row.run.*field; });
  };
  table.add<Texts>("cache", [](const ServingRow& row) {
    return std::string(serving_way_name(row.settings.way));
  });
  table.add<OptionalCounts>("page_size", [](const ServingRow& row) -> std::optional<Index> {
    const ServingWay way = row.settings.way;
    if (way == ServingWay::kPaged || way == ServingWay::kShared) return row.settings.page_size;
    return std::nullopt;
  });
  count("steps", &ServingRun::steps);
  count("prefill_passes", &ServingRun::prefills);
  count("decode_passes", &ServingRun::decodes);
  count("prefill_rows", &ServingRun::prefilled);
  count("decode_rows", &ServingRun::decoded);
  table.add<Reals>("mean_running", [](const ServingRow& row) { return row.run.mean_running(); });
  count("most_running", &ServingRun::most_running);
  count("preemptions", &ServingRun::preemptions);
  count("recomputed_rows", &ServingRun::recomputed);
  count("key_rows", &ServingRun::key_rows);
  table.add<Counts>("key_rows_expected",
                    [](const ServingRow& row) { return row.key_rows_expected; });
  table.add<Texts>("key_rows_formula", [](const ServingRow& row) { return row.formula; });
  table.add<Counts>("peak_bytes",
                    [row_bytes](const ServingRow& row) { return row.run.peak_rows * row_bytes; });
  table.add<Reals>("mean_waste", [](const ServingRow& row) { return row.run.mean_waste; });
  table.add<Reals>("largest_waste", [](const ServingRow& row) { return row.run.largest_waste; });
  count("reserved_rows", &ServingRun::reserved_rows);
  table.add<Reals>("waste_at_end", [](const ServingRow& row) { return row.waste_at_end(); });
  for (const double share : kFinishShares) {
    table.add<Reals>(fmt::format("finish_p{:.0f}_steps", 100 * share),
                     [share](const ServingRow& row) { return row.steps_to_finish(share); });
  }
  if (!timed) return table.take();
  const auto median = [&table](const char* name, Samples ServingRow::*field) {
    table.add<Reals>(name, [field](const ServingRow& row) { return (row.*field).median(); });
  };
  table.add<Reals>("max_difference",
                   [](const ServingRow& row) { return row.max_difference.value_or(kNothing); });
  median("median_ns", &ServingRow::wall);
  table.add<Reals>("iqr_ns", [](const ServingRow& row) { return row.wall.iqr(); });
  median("cpu_median_ns", &ServingRow::cpu);
  median("prefill_median_ns", &ServingRow::prefill);
  median("decode_median_ns", &ServingRow::decode);
  table.add<Reals>("prompt_tokens_per_second",
                   [](const ServingRow& row) { return row.prompt_rate(); });
  table.add<Reals>("decode_tokens_per_second",
                   [&load](const ServingRow& row) { return row.decode_rate(load); });
  table.add<Reals>("tokens_per_second",
                   [&load](const ServingRow& row) { return row.total_rate(load); });
  for (std::size_t i = 0; i < std::size(kFinishShares); ++i) {
    table.add<Reals>(fmt::format("finish_p{:.0f}_ns", 100 * kFinishShares[i]),
                     [i](const ServingRow& row) { return row.finish[i].median(); });
  }
  return table.take();
}

void write_serving(Hdf5Writer& writer, const BenchContext& context,
                   const std::vector<BenchColumn>& columns, const ServingExperiment& experiment) {
  write_columns(writer, context, columns);
  const ServingLoad& load = experiment.load();
  const auto write = [&](const std::string& name, Index ServingRequest::*field) {
    const std::vector<Index> values = of_requests(load, field);
    writer.dataset("/requests/" + name, {load.count()}, values.data());
  };
  write("prompt", &ServingRequest::prompt);
  write("new_tokens", &ServingRequest::new_tokens);
  write("arrival", &ServingRequest::arrival);
  std::vector<Index> steps;
  std::vector<const Samples*> wall;
  std::vector<const Samples*> cpu;
  for (const ServingRow& row : experiment.rows()) {
    steps.insert(steps.end(), row.run.steps_to_finish.begin(), row.run.steps_to_finish.end());
    wall.push_back(&row.wall);
    cpu.push_back(&row.cpu);
  }
  const auto ways = static_cast<Index>(experiment.rows().size());
  writer.dataset("/requests/steps_to_finish", {ways, load.count()}, steps.data());
  if (wall.front()->count() == 0) return;
  write_samples(writer, "/results/samples_ns", wall);
  write_samples(writer, "/results/cpu_samples_ns", cpu);
}

std::vector<std::string> serving_lines(const ServingExperiment& experiment) {
  std::vector<std::string> lines;
  const ServingRow* contiguous = row_of(experiment, ServingWay::kContiguous);
  const ServingRow* paged = row_of(experiment, ServingWay::kPaged);
  const ServingRow* shared = row_of(experiment, ServingWay::kShared);
  if (contiguous != nullptr && paged != nullptr) lines.push_back(beside(*paged, *contiguous));
  if (shared != nullptr) {
    if (paged != nullptr) lines.push_back(beside(*shared, *paged));
    lines.push_back(saving(experiment, *shared));
  }
  for (const ServingRow& row : experiment.rows()) {
    if (row.run.preemptions == 0) continue;
    lines.push_back(
        fmt::format("{}: gave way {} and computed again {}", serving_way_name(row.settings.way),
                    counted(row.run.preemptions, "time"), counted(row.run.recomputed, "key row")));
  }
  return lines;
}

}  // namespace attn
