#include "attn-check/cost.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "bench/attention_cost.h"
#include "bench/machine.h"
#include "bench/stopwatch.h"
#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "core/counted.h"
#include "core/memory.h"
#include "core/text.h"
#include "io/output.h"
#include "io/provenance.h"
#include "ops/gemm.h"

namespace attn {
namespace {

using cli::Format;
using cli::Json;
using cli::Table;

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

std::string ms_text(double nanoseconds) {
  return std::isfinite(nanoseconds) ? fmt::format("{:.3f}", nanoseconds * 1e-6) : "-";
}

std::string exponent_text(double exponent) {
  return std::isfinite(exponent) ? fmt::format("{:.2f}", exponent) : "-";
}

double median_or_nothing(const Samples& samples) {
  return samples.count() > 0 ? samples.median() : kNothing;
}

Table text_table(const std::vector<CostPoint>& points) {
  Table table({{"tokens"},
               {"fast ms"},
               {"weights ms"},
               {"times"},
               {"fast bytes"},
               {"weights bytes"},
               {"times"}});
  for (const CostPoint& point : points) {
    std::vector<std::string> row = {grouped(point.seq_len), ms_text(point.fast_ns.median())};
    if (point.has_whole()) {
      const double bytes = static_cast<double>(point.whole_bytes);
      row.push_back(ms_text(point.whole_ns.median()));
      row.push_back(fmt::format("{:.2f}", point.whole_ns.median() / point.fast_ns.median()));
      row.push_back(grouped(point.fast_bytes));
      row.push_back(grouped(point.whole_bytes));
      row.push_back(fmt::format("{:.1f}", bytes / static_cast<double>(point.fast_bytes)));
    } else {
      row.insert(row.end(), {"left out", "", grouped(point.fast_bytes), "", ""});
    }
    table.add(std::move(row));
  }
  return table;
}

Table machine_table(const std::vector<CostPoint>& points) {
  Table table({{"seq_len"},
               {"flops"},
               {"fast_median_ns"},
               {"weights_median_ns"},
               {"fast_bytes"},
               {"weights_bytes"},
               {"max_difference"}});
  for (const CostPoint& point : points) {
    const bool whole = point.has_whole();
    table.add({fmt::format("{}", point.seq_len), fmt::format("{:.0f}", point.flops),
               fmt::format("{:.0f}", point.fast_ns.median()),
               whole ? fmt::format("{:.0f}", point.whole_ns.median()) : "nan",
               fmt::format("{}", point.fast_bytes),
               whole ? fmt::format("{}", point.whole_bytes) : "nan",
               whole ? fmt::format("{:.3g}", point.max_difference) : "nan"});
  }
  return table;
}

Json way_json(const Samples& samples, Index bytes) {
  if (samples.count() == 0) return Json(nullptr);
  Json way;
  way["median_ns"] = cli::json_number(samples.median());
  way["samples_ns"] = samples.values();
  way["bytes"] = bytes;
  return way;
}

Json cost_json(const CostSettings& settings, const std::vector<CostPoint>& points) {
  const CostExponents law = cost_exponents(points);
  Json document;
  document["heads"] = settings.heads;
  document["head_dim"] = settings.head_dim;
  document["threads"] = 1;
  document["cpu"] = this_machine().cpu;
  document["blas"] = blas_description();
  Json results = Json::array();
  for (const CostPoint& point : points) {
    Json one;
    one["seq_len"] = point.seq_len;
    one["flops"] = cli::json_number(point.flops);
    one["fast"] = way_json(point.fast_ns, point.fast_bytes);
    one["weights"] = way_json(point.whole_ns, point.whole_bytes);
    one["max_difference"] =
        point.has_whole() ? cli::json_number(point.max_difference) : Json(nullptr);
    results.push_back(std::move(one));
  }
  document["results"] = std::move(results);
  document["exponents"]["fast"] = {{"time", cli::json_number(law.fast_time)},
                                   {"memory", cli::json_number(law.fast_memory)}};
  document["exponents"]["weights"] = {{"time", cli::json_number(law.whole_time)},
                                      {"memory", cli::json_number(law.whole_memory)}};
  return document;
}

void print_cost(const CostSettings& settings, const std::vector<CostPoint>& points,
                cli::Report& report) {
  report.print("self-attention, {} heads of {}, f32, one thread, no mask; medians\n",
               settings.heads, settings.head_dim);
  report.print(
      "fast: a tile of scores at a time; weights: all heads * n * n of them written down\n"
      "bytes: what each takes beside q, k and v\n\n{}",
      text_table(points).text());
  for (const CostPoint& point : points) {
    if (point.has_whole()) continue;
    const auto bytes = weight_bytes(settings, point.seq_len);
    report.print("left out: the weights of {} tokens need {}, more than --max-bytes {}\n",
                 grouped(point.seq_len),
                 bytes ? short_size_text(*bytes) : "more than can be counted",
                 short_size_text(settings.max_bytes));
  }
  const CostExponents law = cost_exponents(points);
  report.print("\ngrows as n to the power of\n");
  Table table({{"", Table::Align::kLeft}, {"time"}, {"law"}, {"memory"}, {"law"}});
  table.add({"  fast", exponent_text(law.fast_time), "2", exponent_text(law.fast_memory), "1"});
  table.add(
      {"  weights", exponent_text(law.whole_time), "2", exponent_text(law.whole_memory), "2"});
  report.print("{}", table.text());
}

void write_cost(const std::string& output, const CostSettings& settings,
                const std::vector<CostPoint>& points, const std::string& history) {
  Hdf5Writer writer;
  Provenance provenance;
  provenance.format = "attntools-bench";
  provenance.seed = static_cast<Index>(settings.seed);
  provenance.command = history;
  write_provenance(writer, provenance);
  writer.attribute("/", "heads", settings.heads);
  writer.attribute("/", "head_dim", settings.head_dim);
  writer.attribute("/", "threads", 1);
  writer.attribute("/", "cpu", this_machine().cpu);
  const CostExponents law = cost_exponents(points);
  writer.attribute("/", "fast_time_exponent", law.fast_time);
  writer.attribute("/", "fast_memory_exponent", law.fast_memory);
  writer.attribute("/", "weights_time_exponent", law.whole_time);
  writer.attribute("/", "weights_memory_exponent", law.whole_memory);
  const Shape rows = {static_cast<Index>(points.size())};
  Tensor<Index> lengths(rows);
  for (std::size_t n = 0; n < points.size(); ++n) lengths.values[n] = points[n].seq_len;
  writer.dataset("/results/seq_len", lengths);
  const auto column = [&](const char* name, const auto& value) {
    Tensor<double> numbers(rows);
    for (std::size_t n = 0; n < points.size(); ++n) numbers.values[n] = value(points[n]);
    const std::string path = std::string("/results/") + name;
    writer.dataset(path, numbers);
    writer.scale(path, 0, "/results/seq_len", "seq_len");
  };
  const auto bytes = [](Index count) { return static_cast<double>(count); };
  column("fast_median_ns", [](const CostPoint& p) { return p.fast_ns.median(); });
  column("weights_median_ns", [](const CostPoint& p) { return median_or_nothing(p.whole_ns); });
  column("fast_bytes", [&](const CostPoint& p) { return bytes(p.fast_bytes); });
  column("weights_bytes",
         [&](const CostPoint& p) { return p.has_whole() ? bytes(p.whole_bytes) : kNothing; });
  column("flops", [](const CostPoint& p) { return p.flops; });
  write_output(output, writer.finish());
}

}  // namespace

int run_cost(const CheckOptions& o, cli::Session& session) {
  if (!o.output.empty()) check_output(o.output);
  CostSettings settings;
  settings.seq_lens = o.cost;
  settings.heads = o.cost_heads;
  settings.head_dim = o.cost_head_dim;
  settings.seed = static_cast<std::uint64_t>(o.seed);
  settings.max_bytes = o.max_bytes;
  std::vector<CostPoint> points;
  // What is over in a moment needs no word.
  constexpr std::int64_t kSilentNs = 2'000'000'000;
  const Stopwatch watch;
  std::optional<cli::Progress> progress;
  for (const Index length : settings.seq_lens) {
    const auto weights = weight_bytes(settings, length);
    const double tokens = 4.0 * static_cast<double>(length) *
                          static_cast<double>(settings.heads * settings.head_dim) * 4;
    const bool written = weights && *weights <= settings.max_bytes;
    require_memory("attn-check --cost", tokens + (written ? static_cast<double>(*weights) : 0));
    points.push_back(measure_cost(settings, length));
    const auto all = static_cast<Index>(settings.seq_lens.size());
    if (!progress && watch.elapsed().wall_ns > kSilentNs) progress.emplace(session, all, "lengths");
    if (progress) progress->update(static_cast<Index>(points.size()));
  }
  if (!o.output.empty()) write_cost(o.output, settings, points, session.history());
  session.did(fmt::format("measured attention at {}, {} heads of {}",
                          counted(std::ssize(points), "length"), settings.heads,
                          settings.head_dim));
  cli::Report& report = session.report();
  if (o.format == Format::kJson) {
    report.write(cli::json_text(cost_json(settings, points)));
  } else if (o.format == Format::kTsv) {
    report.write(machine_table(points).tsv());
  } else {
    print_cost(settings, points, report);
  }
  return cli::kDone;
}

}  // namespace attn
