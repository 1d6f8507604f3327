#include "attn-check/weights.h"

#include <fmt/core.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "attn-check/matrix_text.h"
#include "attn-check/selection.h"
#include "attn-check/subject.h"
#include "check/head_rows.h"
#include "check/verdict/rules_text.h"
#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/picture.h"
#include "cli/table.h"
#include "core/counted.h"
#include "core/text.h"
#include "io/output.h"
#include "io/provenance.h"

namespace attn {
namespace {

using cli::Format;
using cli::Json;
using cli::Table;

// The chosen rows of one head of one sequence.
struct Map {
  Index sequence, head;
  Tensor<double> weights;  // (rows, keys)
};

std::vector<Map> maps_of(const Tensor<double>& weights, const Selection& chosen) {
  std::vector<Map> maps;
  const Index each = weights.dim(2) * weights.dim(3);
  const double* from = weights.data();
  for (Index b = 0; b < weights.dim(0); ++b) {
    for (Index head : chosen.heads) {
      Map map{b, head, Tensor<double>({weights.dim(2), weights.dim(3)})};
      std::copy_n(from, each, map.weights.data());
      from += each;
      maps.push_back(std::move(map));
    }
  }
  return maps;
}

std::string title(const Map& map, const AttentionProblem& problem) {
  return problem.batch() == 1 ? fmt::format("head {}", map.head)
                              : fmt::format("sequence {}, head {}", map.sequence, map.head);
}

// Weights of no key that is hidden: a dot and no 0.
Tensor<double> dotted(const Map& map, const AttentionProblem& problem, const Selection& chosen) {
  Tensor<double> shown = map.weights;
  double* at = shown.data();
  for (Index row : chosen.rows) {
    for (Index j = 0; j < problem.kv_len(); ++j, ++at) {
      if (!may_see(problem, map.sequence, map.head, row, j)) {
        *at = -std::numeric_limits<double>::infinity();
      }
    }
  }
  return shown;
}

std::string picture(const std::vector<Map>& maps, const AttentionProblem& problem,
                    const Selection& chosen, const cli::Terminal& terminal) {
  std::vector<std::vector<float>> values(maps.size());
  std::vector<std::vector<std::uint8_t>> hidden(maps.size());
  std::vector<cli::HeatMap> pictures;
  for (std::size_t n = 0; n < maps.size(); ++n) {
    values[n].assign(maps[n].weights.values.begin(), maps[n].weights.values.end());
    for (Index row : chosen.rows) {
      for (Index j = 0; j < problem.kv_len(); ++j) {
        hidden[n].push_back(may_see(problem, maps[n].sequence, maps[n].head, row, j) ? 0 : 1);
      }
    }
    const auto rows = static_cast<Index>(chosen.rows.size());
    cli::HeatMap map;
    map.title = title(maps[n], problem);
    map.values = {values[n].data(), rows, problem.kv_len()};
    map.hidden = {hidden[n].data(), rows, problem.kv_len()};
    for (Index row : chosen.rows) map.row_labels.push_back(std::to_string(row));
    map.rows_are = "query";
    map.cols_are = "key";
    pictures.push_back(std::move(map));
  }
  return pictures.size() == 1 ? cli::heat_map(pictures.front(), terminal)
                              : cli::heat_maps(pictures, terminal);
}

void write_weights(const CheckOptions& o, const CheckSubject& subject,
                   const Tensor<double>& weights, const Selection& chosen,
                   const std::string& history) {
  Tensor<float> stored(weights.shape);
  for (std::size_t n = 0; n < stored.values.size(); ++n) {
    stored.values[n] = static_cast<float>(weights.values[n]);
  }
  Hdf5Writer writer;
  writer.dataset("/weights", stored);
  const auto numbers = [&writer](const char* name, const std::vector<Index>& given) {
    const std::vector<std::int32_t> axis(given.begin(), given.end());
    writer.dataset(name, {static_cast<Index>(axis.size())}, axis.data());
  };
  std::vector<Index> keys;
  for (Index j = 0; j < weights.dim(3); ++j) keys.push_back(j);
  numbers("/head", chosen.heads);
  numbers("/query", chosen.rows);
  numbers("/key", keys);
  writer.scale("/weights", 1, "/head", "head");
  writer.scale("/weights", 2, "/query", "query");
  writer.scale("/weights", 3, "/key", "key");
  Provenance provenance;
  provenance.command = history;
  provenance.earlier_history = subject.history;
  write_provenance(writer, provenance);
  write_output(o.output, writer.finish());
}

}  // namespace

int run_print_weights(const CheckOptions& o, cli::Session& session) {
  if (!o.output.empty()) check_output(o.output, {o.input});
  const CheckSubject subject = read_subject(o, Values::kOptional);
  const AttentionProblem& problem = subject.recorded.problem;
  const Selection chosen = select(problem, o, 0);
  const Tensor<double> weights =
      chosen_weights(problem, chosen.heads, chosen.rows, static_cast<int>(o.threads));
  if (!o.output.empty()) write_weights(o, subject, weights, chosen, session.history());
  session.did(fmt::format("computed the weights of {} of {}",
                          counted(std::ssize(chosen.rows), "row"), subject.name));
  cli::Report& report = session.report();
  if (!report.wanted()) return cli::kDone;
  const std::vector<Map> maps = maps_of(weights, chosen);
  if (o.format == Format::kJson) {
    Json document;
    document["rows"] = chosen.rows;
    Json all = Json::array();
    for (const Map& map : maps) {
      Json entry;
      entry["sequence"] = map.sequence;
      entry["head"] = map.head;
      Json rows = Json::array();
      for (std::size_t i = 0; i < chosen.rows.size(); ++i) {
        Json row = Json::array();
        for (Index j = 0; j < problem.kv_len(); ++j) {
          row.push_back(
              cli::json_number(map.weights.data()[static_cast<Index>(i) * problem.kv_len() + j]));
        }
        rows.push_back(std::move(row));
      }
      entry["weights"] = std::move(rows);
      all.push_back(std::move(entry));
    }
    document["maps"] = std::move(all);
    report.write(cli::json_text(document));
    return cli::kDone;
  }
  if (o.format == Format::kTsv) {
    Table table({{"sequence"}, {"head"}, {"row"}, {"key"}, {"weight"}});
    for (const Map& map : maps) {
      for (std::size_t i = 0; i < chosen.rows.size(); ++i) {
        for (Index j = 0; j < problem.kv_len(); ++j) {
          table.add({std::to_string(map.sequence), std::to_string(map.head),
                     std::to_string(chosen.rows[i]), std::to_string(j),
                     fmt::format(
                         "{}", map.weights.data()[static_cast<Index>(i) * problem.kv_len() + j])});
        }
      }
    }
    report.write(table.tsv());
    return cli::kDone;
  }
  report.print("{}\n  {}\n", subject.name, rules_text(problem));
  if (o.show) {
    report.print("\n{}", picture(maps, problem, chosen, session.terminal()));
    return cli::kDone;
  }
  for (const Map& map : maps) {
    report.print("\nweights of {}; a dot is hidden\n{}", title(map, problem),
                 matrix_text(dotted(map, problem, chosen), {"q", "k", 0, true, &chosen.rows}));
  }
  return cli::kDone;
}

}  // namespace attn
