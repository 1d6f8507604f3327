#include "attn-check/heads.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "attn-check/selection.h"
#include "attn-check/subject.h"
#include "check/compare_heads.h"
#include "check/head_rows.h"
#include "check/head_stats.h"
#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/table.h"
#include "core/counted.h"
#include "core/error.h"
#include "core/text.h"
#include "io/tensor_argument.h"

namespace attn {
namespace {

using cli::Format;
using cli::Json;
using cli::Table;

constexpr Index kComparedTokens = 128;

// A figure of the compared layers: its name, and one number for each.
struct Figure {
  const char* key;
  const char* words;
  Index HeadsReport::*number;
};
constexpr Figure kFigures[] = {
    {"heads", "heads", &HeadsReport::heads},
    {"head_dim", "features a head (head_dim)", &HeadsReport::head_dim},
    {"parameters", "parameters: W_q W_k W_v W_o", &HeadsReport::parameters},
    {"flops", "FLOPs: projections, scores, mix", &HeadsReport::flops},
    {"exponentials", "exponentials: weights of all heads", &HeadsReport::exponentials},
    {"score_rank", "rank of W_q W_k^T, one head", &HeadsReport::score_rank},
    {"map_rank", "rank of the scores, one head", &HeadsReport::map_rank},
    {"value_rank", "rank of W_v W_o, one head", &HeadsReport::value_rank},
    {"mixtures", "independent maps of weights", &HeadsReport::mixtures},
};

Json compared_json(const std::vector<HeadsReport>& all, Index width, Index tokens) {
  Json document;
  document["width"] = width;
  document["tokens"] = tokens;
  Json results = Json::array();
  for (const HeadsReport& one : all) {
    Json entry;
    for (const Figure& figure : kFigures) entry[figure.key] = one.*figure.number;
    results.push_back(std::move(entry));
  }
  document["results"] = std::move(results);
  return document;
}

Table compared_table(const std::vector<HeadsReport>& all) {
  std::vector<Table::Column> columns = {{"", Table::Align::kLeft}};
  for (const HeadsReport& one : all) {
    columns.push_back({fmt::format("{} x {}", one.heads, one.head_dim)});
  }
  Table table(std::move(columns));
  for (const Figure& figure : kFigures) {
    std::vector<std::string> row = {figure.words};
    for (const HeadsReport& one : all) row.push_back(grouped(one.*figure.number));
    table.add(std::move(row));
  }
  return table;
}

// One kind of maps and what its heads do.
struct Heads {
  std::string part;           // "", "encoder" ...
  const char* sequence_word;  // what the maps' first axis counts
  std::vector<HeadStats> stats;
};

std::vector<Index> token_ids(const CheckOptions& o) {
  if (o.token_ids.empty()) return {};
  std::vector<Index> ids;
  for (double value : tensor_argument(o.token_ids, "--token-ids").values) {
    if (!(std::abs(value) < 1e15) || value != std::floor(value)) {
      throw UsageError(fmt::format("--token-ids: want whole numbers, got {}", value));
    }
    ids.push_back(static_cast<Index>(value));
  }
  return ids;
}

void check_tokens(const std::vector<Index>& ids, Index keys) {
  if (ids.empty() || static_cast<Index>(ids.size()) == keys) return;
  throw UsageError(
      fmt::format("--token-ids: want one for each of the {} keys, got {}", keys, ids.size()));
}

// Maps that somebody dumped, without queries and keys: the last query stands at the last key.
Heads heads_of_maps(const TensorFile& file, const std::string& part, const std::string& name,
                    const std::vector<Index>& ids) {
  const std::string folder = part.empty() ? "/" : "/" + part + "/";
  const Tensor<double> weights = file.read<double>(folder + name);
  if (weights.rank() != 4) {
    throw DataError(
        fmt::format("{}: {}{}: want four axes (block or sequence, head, query, key), "
                    "got {}",
                    file.name(), folder, name, shape_text(weights.shape)));
  }
  check_tokens(ids, weights.dim(3));
  const Index offset = weights.dim(3) - weights.dim(2);
  Heads heads{part, name == "attention" ? "block" : "sequence",
              head_stats(
                  weights, [offset](Index, Index row) { return row + offset; }, ids)};
  if (ids.empty() && file.has_dataset(folder + "induction")) {
    const Tensor<double> induction = file.read<double>(folder + "induction");
    for (std::size_t n = 0; n < heads.stats.size() && n < induction.values.size(); ++n) {
      heads.stats[n].induction = induction.values[n];
    }
  }
  return heads;
}

std::vector<Heads> heads_of_dump(const TensorFile& file, const std::vector<Index>& ids) {
  std::vector<Heads> all;
  for (const char* part : {"", "encoder", "decoder", "cross"}) {
    const std::string folder = *part == '\0' ? "/" : fmt::format("/{}/", part);
    if (file.has_dataset(folder + "attention")) {
      all.push_back(heads_of_maps(file, part, "attention", ids));
    }
  }
  return all;
}

// A case: its own weights where it has them, else those that q and k give.
Heads heads_of_case(const CheckOptions& o, const std::vector<Index>& ids) {
  const CheckSubject subject = read_subject(o, Values::kOptional);
  const AttentionProblem& problem = subject.recorded.problem;
  check_tokens(ids, problem.kv_len());
  std::vector<Index> rows(static_cast<std::size_t>(problem.q_len()));
  for (std::size_t n = 0; n < rows.size(); ++n) rows[n] = static_cast<Index>(n);
  const auto position = [&problem](Index b, Index row) {
    return sight_of(problem, b, row).position;
  };
  if (subject.recorded.weights) {
    return {"", "sequence", head_stats(*subject.recorded.weights, position, ids)};
  }
  std::vector<HeadStats> all;
  // One head at a time: all maps together may be too large.
  for (Index head = 0; head < problem.heads(); ++head) {
    const Tensor<double> weights =
        chosen_weights(problem, {head}, rows, static_cast<int>(o.threads));
    for (HeadStats& one : head_stats(weights, position, ids)) {
      one.head = head;
      all.push_back(one);
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const HeadStats& a, const HeadStats& b) { return a.sequence < b.sequence; });
  return {"", "sequence", std::move(all)};
}

std::vector<Heads> all_heads(const CheckOptions& o) {
  const std::vector<Index> ids = token_ids(o);
  // Maps alone are looked for in a file that can be opened twice.
  if (!o.input.empty() && o.input != "-") {
    const TensorFile file = TensorFile::open(o.input, {.max_bytes = o.max_bytes});
    std::vector<Heads> dumped = heads_of_dump(file, ids);
    if (!dumped.empty()) return dumped;
    if (!file.has_dataset("/q") && o.names.empty() && file.has_dataset("/weights")) {
      return {heads_of_maps(file, "", "weights", ids)};
    }
  }
  return {heads_of_case(o, ids)};
}

Table stats_table(const std::vector<Heads>& all) {
  Table table({{"part", Table::Align::kLeft},
               {all.front().sequence_word},
               {"head"},
               {"rows"},
               {"entropy"},
               {"self"},
               {"previous"},
               {"first"},
               {"future"},
               {"induction"}});
  for (const Heads& heads : all) {
    for (const HeadStats& one : heads.stats) {
      std::vector<std::string> row = {heads.part.empty() ? "self" : heads.part,
                                      std::to_string(one.sequence), std::to_string(one.head),
                                      std::to_string(one.rows)};
      for (double value : {one.entropy, one.self, one.previous, one.first, one.future}) {
        row.push_back(fmt::format("{:.3f}", value));
      }
      row.push_back(one.induction ? fmt::format("{:.3f}", *one.induction) : "-");
      table.add(std::move(row));
    }
  }
  return table;
}

Json stats_json(const std::vector<Heads>& all) {
  Json results = Json::array();
  for (const Heads& heads : all) {
    for (const HeadStats& one : heads.stats) {
      Json entry;
      entry["part"] = heads.part.empty() ? "self" : heads.part;
      entry[heads.sequence_word] = one.sequence;
      entry["head"] = one.head;
      entry["rows"] = one.rows;
      entry["entropy"] = cli::json_number(one.entropy);
      entry["self"] = cli::json_number(one.self);
      entry["previous"] = cli::json_number(one.previous);
      entry["first"] = cli::json_number(one.first);
      entry["future"] = cli::json_number(one.future);
      entry["induction"] = one.induction ? cli::json_number(*one.induction) : Json(nullptr);
      results.push_back(std::move(entry));
    }
  }
  Json document;
  document["heads"] = std::move(results);
  return document;
}

}  // namespace

int run_compare_heads(const CheckOptions& o, cli::Session& session) {
  const Index tokens = o.tokens.value_or(kComparedTokens);
  std::vector<HeadsReport> all;
  for (Index heads : o.compare_heads) {
    if (o.width % heads != 0) {
      throw UsageError(fmt::format("--compare-heads: heads must divide --width {}: {} does not",
                                   o.width, heads));
    }
    all.push_back(measure_heads(heads, o.width, tokens, static_cast<std::uint64_t>(o.seed),
                                static_cast<int>(o.threads)));
  }
  cli::Report& report = session.report();
  if (o.format == Format::kJson) {
    report.write(cli::json_text(compared_json(all, o.width, tokens)));
  } else if (o.format == Format::kTsv) {
    report.write(compared_table(all).tsv());
  } else {
    report.print(
        "a layer of width {}, {} tokens; ranks computed, of random projections\n{}\n"
        "Parameters and products are the same however the width is cut. One head compares tokens\n"
        "in all {} directions but has one map of weights, so each token mixes the others in one\n"
        "way; more heads mix in as many ways, each comparing in fewer directions.\n",
        o.width, tokens, compared_table(all).text(), o.width);
  }
  session.did(fmt::format("compared layers of {} heads, {} wide, over {}",
                          fmt::join(o.compare_heads, ", "), o.width, counted(tokens, "token")));
  return cli::kDone;
}

int run_head_stats(const CheckOptions& o, cli::Session& session) {
  const std::vector<Heads> all = all_heads(o);
  cli::Report& report = session.report();
  if (o.format == Format::kJson) {
    report.write(cli::json_text(stats_json(all)));
  } else if (o.format == Format::kTsv) {
    report.write(stats_table(all).tsv());
  } else {
    report.print(
        "mean over rows: entropy in nats, then the weight on the token itself, on the one before,\n"
        "on the first, on all later ones; induction: on what followed the token's last occurrence\n"
        "{}",
        stats_table(all).text());
  }
  Index heads = 0;
  for (const Heads& part : all) heads += std::ssize(part.stats);
  session.did(fmt::format("measured {} of {}", counted(heads, "head"), input_name(o.input)));
  return cli::kDone;
}

}  // namespace attn
