#include "attn-check/saturation.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>
#include <vector>

#include "check/verdict/saturation.h"
#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/picture.h"
#include "cli/table.h"

namespace attn {
namespace {

using cli::Format;
using cli::Json;
using cli::Table;

constexpr Index kKeys = 64;
const std::vector<Index> kHeadDims = {4, 8, 16, 32, 64, 128, 256, 512, 1024};

Table spread_table(const std::vector<Saturation>& all) {
  Table table({{"head_dim"},
               {"variance /sqrt"},
               {"entropy /sqrt"},
               {"largest /sqrt"},
               {"gradient /sqrt"},
               {"variance"},
               {"entropy"},
               {"largest"},
               {"gradient"}});
  for (const Saturation& one : all) {
    std::vector<std::string> cells = {std::to_string(one.head_dim)};
    for (const SoftmaxSpread* spread : {&one.scaled, &one.unscaled}) {
      cells.push_back(fmt::format("{:.2f}", spread->score_variance));
      cells.push_back(fmt::format("{:.3f}", spread->entropy));
      cells.push_back(fmt::format("{:.3f}", spread->largest));
      cells.push_back(fmt::format("{:.3f}", spread->gradient));
    }
    table.add(std::move(cells));
  }
  return table;
}

Json spread_json(const SoftmaxSpread& spread) {
  Json document;
  document["score_variance"] = cli::json_number(spread.score_variance);
  document["entropy"] = cli::json_number(spread.entropy);
  document["largest_weight"] = cli::json_number(spread.largest);
  document["gradient"] = cli::json_number(spread.gradient);
  return document;
}

Json saturation_json(const std::vector<Saturation>& all) {
  Json document;
  document["keys"] = kKeys;
  document["even_entropy"] = cli::json_number(std::log(static_cast<double>(kKeys)));
  Json results = Json::array();
  for (const Saturation& one : all) {
    Json entry;
    entry["head_dim"] = one.head_dim;
    entry["scaled"] = spread_json(one.scaled);
    entry["unscaled"] = spread_json(one.unscaled);
    results.push_back(std::move(entry));
  }
  document["results"] = std::move(results);
  return document;
}

std::string entropy_chart(const std::vector<Saturation>& all, const cli::Terminal& terminal) {
  cli::Chart chart;
  chart.title = "mean entropy of a row's weights, in nats";
  chart.x_is = "head_dim";
  chart.log_x = true;
  chart.powers_of_two = true;
  cli::Curve scaled{"with 1/sqrt(head_dim)", {}, {}};
  cli::Curve unscaled{"without", {}, {}};
  for (const Saturation& one : all) {
    for (cli::Curve* curve : {&scaled, &unscaled}) {
      curve->x.push_back(static_cast<double>(one.head_dim));
    }
    scaled.y.push_back(one.scaled.entropy);
    unscaled.y.push_back(one.unscaled.entropy);
  }
  chart.curves = {std::move(scaled), std::move(unscaled)};
  return cli::chart(chart, terminal);
}

}  // namespace

int run_saturation(const CheckOptions& o, cli::Session& session) {
  const std::vector<Saturation> all =
      saturation(kHeadDims, kKeys, static_cast<std::uint64_t>(o.seed), static_cast<int>(o.threads));
  session.did(fmt::format("measured softmax at {} head sizes, scaled and not", all.size()));
  cli::Report& report = session.report();
  if (o.format == Format::kJson) {
    report.write(cli::json_text(saturation_json(all)));
    return cli::kDone;
  }
  if (o.format == Format::kTsv) {
    report.write(spread_table(all).tsv());
    return cli::kDone;
  }
  report.print(
      "softmax over {} keys, standard normal q and k, mean of 256 queries: with the scores "
      "divided\n"
      "by sqrt(head_dim) (\"/sqrt\"), and as they are. Even weights have an entropy of ln {} = "
      "{:.3f};\nthe gradient, 1 - sum of squared weights, is what backward gets through.\n{}",
      kKeys, kKeys, std::log(static_cast<double>(kKeys)), spread_table(all).text());
  if (o.show) report.print("\n{}", entropy_chart(all, session.terminal()));
  return cli::kDone;
}

}  // namespace attn
