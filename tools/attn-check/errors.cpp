#include "attn-check/errors.h"

#include <fmt/core.h>

#include <cmath>
#include <string>
#include <utility>

#include "cli/table.h"

namespace attn {
namespace {

using cli::Json;
using cli::Table;

std::string stretch_text(const ErrorShare& share) {
  return share.end == share.first + 1 ? fmt::format("{}", share.first)
                                      : fmt::format("{} to {}", share.first, share.end - 1);
}

std::string error_text(double error) {
  return std::isfinite(error) ? fmt::format("{:.2e}", error) : "not finite";
}

}  // namespace

void print_errors(const std::vector<ErrorSummary>& summaries, cli::Report& report) {
  for (const ErrorSummary& summary : summaries) {
    Table table({{"axis", Table::Align::kLeft},
                 {"where", Table::Align::kLeft},
                 {"share of error"},
                 {"max error"},
                 {"beyond limit"}});
    for (const AxisErrors& axis : summary.axes) {
      Index right = 0;
      for (const ErrorShare& share : axis.shares) {
        if (share.wrong == 0) {
          ++right;
          continue;
        }
        table.add({axis.axis, stretch_text(share), fmt::format("{:.1f} %", 100 * share.share),
                   error_text(share.max_error), fmt::format("{} of {}", share.wrong, share.count)});
      }
      if (right > 0) table.add({axis.axis, fmt::format("{} others", right), "", "", "0"});
    }
    if (table.empty()) continue;
    report.print("\nwhere the error of {} sits: {} of {} numbers are beyond the limit\n{}",
                 summary.tensor, summary.wrong, summary.count, table.text());
  }
}

Json errors_json(const std::vector<ErrorSummary>& summaries) {
  Json all = Json::array();
  for (const ErrorSummary& summary : summaries) {
    Json one;
    one["tensor"] = summary.tensor;
    one["beyond_limit"] = summary.wrong;
    one["count"] = summary.count;
    Json axes = Json::array();
    for (const AxisErrors& axis : summary.axes) {
      Json shares = Json::array();
      for (const ErrorShare& share : axis.shares) {
        Json json;
        json["first"] = share.first;
        json["last"] = share.end - 1;
        json["share"] = cli::json_number(share.share);
        json["max_error"] = cli::json_number(share.max_error);
        json["beyond_limit"] = share.wrong;
        shares.push_back(std::move(json));
      }
      Json json;
      json["axis"] = axis.axis;
      json["shares"] = std::move(shares);
      axes.push_back(std::move(json));
    }
    one["axes"] = std::move(axes);
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace attn
