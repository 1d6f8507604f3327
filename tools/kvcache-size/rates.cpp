#include "kvcache-size/rates.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "core/text.h"
#include "kvcache-size/table.h"
#include "kvcache-size/weights.h"
#include "sizing/rates.h"

namespace attn {
namespace {

using cli::Json;
using cli::Table;

StepWeights step_weights(const Weights& weights) {
  StepWeights step;
  step.all_bytes = static_cast<double>(weights.bytes);
  step.parameters = static_cast<double>(weights.active);
  step.bytes = step.all_bytes;
  if (weights.parameters > 0 && weights.active < weights.parameters) {
    step.bytes *= static_cast<double>(weights.active) / static_cast<double>(weights.parameters);
  }
  if (weights.active == 0 && weights.bytes_each > 0) {
    step.parameters = step.all_bytes / weights.bytes_each;
  }
  return step;
}

std::string traffic_text(double bytes) {
  return short_size_text(static_cast<Index>(bytes));
}

std::string time_text(double seconds) {
  if (seconds <= 0) return "-";
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.4g} s", seconds);
}

std::string rate_text(double rate) {
  return rate > 0 ? fmt::format("{:.4g}", rate) : "-";
}

}  // namespace

void report_rates(const SizeGrid& grid, const SizeOptions& o, cli::Session& session) {
  const MachineRates machine{.bandwidth = static_cast<double>(o.bandwidth.value_or(0)),
                             .flops = static_cast<double>(o.flops.value_or(0))};
  TableAnswer answer{.before = "",
                     .people = Table({{"model", Table::Align::kLeft},
                                      {"tokens"},
                                      {"batch"},
                                      {"type"},
                                      {"weights read"},
                                      {"cache read"},
                                      {"flop/byte"},
                                      {"prefill flop/byte"},
                                      {"prefill"},
                                      {"a step"},
                                      {"tokens/s each"},
                                      {"tokens/s"}}),
                     .program = Table({{"model"},
                                       {"tokens"},
                                       {"batch"},
                                       {"cache_dtype"},
                                       {"weight_read_bytes"},
                                       {"cache_read_bytes"},
                                       {"step_flops"},
                                       {"intensity"},
                                       {"prefill_flops"},
                                       {"prefill_intensity"},
                                       {"prefill_seconds"},
                                       {"step_seconds"},
                                       {"rate_each"},
                                       {"rate_total"}})};
  Json results = Json::array();
  for (Index i = 0; i < grid.size(); ++i) {
    const SizeRow row = grid.row(i);
    const CacheSpec& spec = grid.shapes[static_cast<std::size_t>(row.shape)];
    const StepWeights weights = step_weights(weights_of(o, spec));
    const CacheQuestion question = grid.question(i);
    const DecodeStep step = decode_step(spec, question, weights, machine);
    const double prefill = prefill_flops(spec, question.lengths, weights.parameters);
    // A prefill reads the weights once and writes the cache.
    const double prefill_bytes = weights.all_bytes + step.cache_bytes;
    double prefill_time = machine.flops > 0 ? prefill / machine.flops : 0.0;
    if (machine.bandwidth > 0) {
      prefill_time = std::max(prefill_time, prefill_bytes / machine.bandwidth);
    }
    const double each = step.seconds > 0 ? 1.0 / step.seconds : 0.0;
    const double total = each * static_cast<double>(row.batch);
    const std::string type = grid.types[static_cast<std::size_t>(row.types)].name();
    const std::string model = spec.model.empty() ? "-" : spec.model;
    answer.people.add({model, grouped(row.tokens), grouped(row.batch), type,
                       traffic_text(step.weight_bytes), traffic_text(step.cache_bytes),
                       fmt::format("{:.3g}", step.intensity()),
                       fmt::format("{:.3g}", prefill / prefill_bytes), time_text(prefill_time),
                       time_text(step.seconds), rate_text(each), rate_text(total)});
    answer.program.add({model, fmt::format("{}", row.tokens), fmt::format("{}", row.batch), type,
                        fmt::format("{}", step.weight_bytes), fmt::format("{}", step.cache_bytes),
                        fmt::format("{}", step.flops), fmt::format("{}", step.intensity()),
                        fmt::format("{}", prefill), fmt::format("{}", prefill / prefill_bytes),
                        fmt::format("{}", prefill_time), fmt::format("{}", step.seconds),
                        fmt::format("{}", each), fmt::format("{}", total)});
    const auto crossing = batch_where_cache_dominates(spec, question, weights);
    Json result = {{"model", spec.model.empty() ? Json(nullptr) : Json(spec.model)},
                   {"tokens", row.tokens},
                   {"batch", row.batch},
                   {"cache_dtype", type},
                   {"bytes", row.bytes.total},
                   {"k_bytes", row.bytes.keys},
                   {"v_bytes", row.bytes.values},
                   {"state_bytes", row.bytes.state},
                   {"weight_read_bytes", step.weight_bytes},
                   {"cache_read_bytes", step.cache_bytes},
                   {"step_flops", step.flops},
                   {"intensity", cli::json_number(step.intensity())},
                   {"prefill_flops", prefill},
                   {"prefill_intensity", cli::json_number(prefill / prefill_bytes)},
                   {"prefill_seconds", prefill_time},
                   {"step_seconds", step.seconds},
                   {"rate_each", each},
                   {"rate_total", total},
                   {"cache_dominates_from_batch", crossing ? Json(*crossing) : Json(nullptr)}};
    const std::string label = grid.shapes.size() > 1 ? model + ", " : "";
    const bool first_batch = row.batch == grid.batches.front();
    if (first_batch && crossing) {
      answer.after += fmt::format(
          "{}{} tokens, {}: from batch {} on more of the cache is read than of "
          "the weights\n",
          label, grouped(row.tokens), type, grouped(*crossing));
    }
    if (o.min_rate) {
      const Index most = largest_batch_at_rate(spec, question, weights, machine, *o.min_rate);
      result["largest_batch_at_min_rate"] = most;
      if (first_batch) {
        answer.after +=
            fmt::format("{}{} tokens, {}: at {} tokens/s for each, the largest batch is {}\n",
                        label, grouped(row.tokens), type, *o.min_rate, grouped(most));
      }
    }
    results.push_back(std::move(result));
  }
  answer.after =
      "\nbounds: bytes / bandwidth and operations / flops, whichever is longer; a "
      "multiply-add is 2 operations\n" +
      answer.after;
  answer.json = {{"results", std::move(results)}};
  write_answer(answer, o.format, session.report());
}

}  // namespace attn
