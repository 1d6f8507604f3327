#include "kvcache-size/budget.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "core/counted.h"
#include "core/error.h"
#include "core/text.h"
#include "kvcache-size/report.h"
#include "kvcache-size/table.h"
#include "kvcache-size/weights.h"
#include "sizing/budget.h"

namespace attn {
namespace {

using cli::Json;
using cli::Table;

struct Row {
  const CacheSpec* spec = nullptr;
  std::string type = "";
  Index ranks = 1;
  Index tokens = 0;  ///< kUnbounded: any number
  Index batch = 0;   ///< the same
  Index needed = 0;  ///< of one rank
  Index left = 0;    ///< negative: short by so much
  Budget budget = {};
  KvBytes bytes = {};
  double concurrency = 0.0;  ///< sequences of these tokens that fit, as engines print it
  Index blocks = 0;          ///< pages in the pool; 0 where layers need unlike ones
  Index block_size = 16;
};

std::string count_text(Index count) {
  return count >= kUnbounded ? "any" : grouped(count);
}

// Pages that the pool has, as vllm counts them: all layers' rows of one block of tokens.
Index blocks_of(const CacheSpec& spec, CacheQuestion question, Index bytes) {
  for (const LayerRun& run : spec.layers) {
    for (const CacheRows& rows : run.layer.rows) {
      if (rows.span != CacheRows::Span::kAll) return 0;
    }
    if (!run.layer.state.empty()) return 0;
  }
  question.lengths.sequences = 1;
  question.lengths.tokens = question.runtime.block_size;
  const auto block = rank_bytes(spec, question);
  return block && *block > 0 && bytes > 0 ? bytes / *block : 0;
}

Row filled(const CacheSpec& spec, const CacheQuestion& question, const Budget& budget) {
  Row row{.spec = &spec};
  row.ranks = question.tensor_parallel;
  row.tokens = question.lengths.tokens;
  row.batch = question.lengths.sequences;
  row.budget = budget;
  row.block_size = question.runtime.block_size;
  if (row.tokens < kUnbounded && row.batch < kUnbounded && row.tokens > 0 && row.batch > 0) {
    row.bytes = kv_bytes(spec, question);
    row.needed = row.bytes.rank + row.bytes.rank_state;
  }
  row.left = budget.for_cache() - row.needed;
  row.blocks = blocks_of(spec, question, budget.for_cache());
  CacheQuestion one = question;
  one.lengths.sequences = 1;
  if (row.tokens > 0 && row.tokens < kUnbounded) {
    const auto single = rank_bytes(spec, one);
    if (single && *single > 0) {
      row.concurrency = static_cast<double>(std::max<Index>(budget.for_cache(), 0)) /
                        static_cast<double>(*single);
    }
  }
  return row;
}

// Batches 1, 2, 4 ... as long as a sequence has room.
void add_frontier(std::vector<Row>& rows, const CacheSpec& spec, CacheQuestion question,
                  const Budget& budget) {
  constexpr Index kMostSequences = Index{1} << 20;
  constexpr Index kShortest = 128;  // shorter sequences interest nobody
  for (Index batch = 1; batch <= kMostSequences; batch *= 2) {
    question.lengths.sequences = batch;
    question.lengths.tokens = largest_context(spec, question, budget.for_cache());
    if (question.lengths.tokens < (batch == 1 ? 1 : kShortest)) break;
    rows.push_back(filled(spec, question, budget));
    if (question.lengths.tokens >= kUnbounded) break;
  }
}

Budget budget_of(const SizeOptions& o, const Weights& weights, Index ranks) {
  Budget budget;
  budget.memory = *o.memory;
  budget.weights = weights.bytes;
  budget.reserved =
      o.reserved +
      static_cast<Index>(std::ceil(o.reserved_part * static_cast<double>(budget.memory)));
  budget.ranks = ranks;
  return budget;
}

std::vector<Row> asked_rows(const SizeGrid& grid, const SizeOptions& o, std::string& before) {
  std::vector<Row> rows;
  for (const CacheSpec& spec : grid.shapes) {
    const Weights weights = weights_of(o, spec);
    for (const Index ranks : grid.ranks) {
      const Budget budget = budget_of(o, weights, ranks);
      before += fmt::format(
          "{}{}{} less {}{} and {} in reserve: {} for the cache\n",
          spec.model.empty() ? "" : spec.model + ": ", short_size_text(budget.memory),
          ranks > 1 ? fmt::format(" on each of {} ranks", ranks) : "", weights.text,
          ranks > 1 ? fmt::format(", {} on each,", short_size_text(budget.weights_per_rank())) : "",
          short_size_text(budget.reserved),
          budget.for_cache() < 0 ? fmt::format("short by {}", short_size_text(-budget.for_cache()))
                                 : short_size_text(budget.for_cache()));
      for (const TypePair& types : grid.types) {
        CacheQuestion question;
        question.key_type = types.keys;
        question.value_type = types.values;
        question.tensor_parallel = ranks;
        question.runtime = grid.runtime;
        question.lengths.encoder_tokens = grid.encoder_tokens.front();
        const std::size_t first = rows.size();
        if (!o.tokens_given && !o.batch_given) {
          add_frontier(rows, spec, question, budget);
        } else {
          for (const Index tokens : o.tokens_given ? grid.tokens : std::vector<Index>{0}) {
            for (const Index batch : o.batch_given ? grid.batches : std::vector<Index>{0}) {
              question.lengths.tokens = tokens;
              question.lengths.sequences = batch;
              if (batch == 0) {
                question.lengths.sequences = 1;
                question.lengths.sequences = largest_batch(spec, question, budget.for_cache());
              } else if (tokens == 0) {
                question.lengths.tokens = largest_context(spec, question, budget.for_cache());
              }
              rows.push_back(filled(spec, question, budget));
            }
          }
        }
        for (std::size_t i = first; i < rows.size(); ++i) rows[i].type = types.name();
      }
    }
  }
  return rows;
}

// Is there room for what was asked, or for anything where the most was asked for?
bool fits(const Row& row) {
  return row.left >= 0 && row.tokens > 0 && row.batch > 0;
}

std::string left_text(const Row& row) {
  return row.left < 0 ? fmt::format("short by {}", short_size_text(-row.left))
                      : short_size_text(row.left);
}

// Of rows none of which fits.
std::string why_nothing_fits(const std::vector<Row>& rows) {
  if (rows.empty()) return "nothing fits: the memory does not hold one sequence of one token";
  const Row& row = rows.front();
  if (rows.size() > 1) return "nothing of what was asked fits";
  if (row.left < 0) return left_text(row);
  return row.batch == 0 ? fmt::format("not one sequence of {} tokens fits", count_text(row.tokens))
                        : fmt::format("not one token of {} sequences fits", count_text(row.batch));
}

TableAnswer dressed(const std::vector<Row>& rows, const std::string& before) {
  TableAnswer answer{.before = before + "\n",
                     .people = Table({{"model", Table::Align::kLeft},
                                      {"type"},
                                      {"ranks"},
                                      {"tokens"},
                                      {"batch"},
                                      {"a rank"},
                                      {"concurrency"},
                                      {"blocks"},
                                      {"left", Table::Align::kLeft}}),
                     .program = Table({{"model"},
                                       {"cache_dtype"},
                                       {"tensor_parallel"},
                                       {"tokens"},
                                       {"batch"},
                                       {"rank_bytes"},
                                       {"left_bytes"},
                                       {"fits"},
                                       {"concurrency"},
                                       {"blocks"},
                                       {"for_cache_bytes"},
                                       {"weight_bytes"}})};
  Json results = Json::array();
  for (const Row& row : rows) {
    const std::string model = row.spec->model.empty() ? "-" : row.spec->model;
    const std::string concurrency =
        row.concurrency > 0 ? fmt::format("{:.2f}x", row.concurrency) : "-";
    answer.people.add({model, row.type, fmt::format("{}", row.ranks), count_text(row.tokens),
                       count_text(row.batch), short_size_text(row.needed), concurrency,
                       row.blocks > 0 ? grouped(row.blocks) : "-", left_text(row)});
    answer.program.add({model, row.type, fmt::format("{}", row.ranks),
                        fmt::format("{}", row.tokens), fmt::format("{}", row.batch),
                        fmt::format("{}", row.needed), fmt::format("{}", row.left),
                        fits(row) ? "yes" : "no", fmt::format("{}", row.concurrency),
                        fmt::format("{}", row.blocks), fmt::format("{}", row.budget.for_cache()),
                        fmt::format("{}", row.budget.weights)});
    results.push_back({{"model", row.spec->model.empty() ? Json(nullptr) : Json(row.spec->model)},
                       {"tokens", row.tokens},
                       {"batch", row.batch},
                       {"unbounded", row.tokens >= kUnbounded || row.batch >= kUnbounded},
                       {"cache_dtype", row.type},
                       {"tensor_parallel", row.ranks},
                       {"bytes", row.bytes.total},
                       {"k_bytes", row.bytes.keys},
                       {"v_bytes", row.bytes.values},
                       {"state_bytes", row.bytes.state},
                       {"rank_bytes", row.needed},
                       {"left_bytes", row.left},
                       {"fits", fits(row)},
                       {"concurrency", row.concurrency},
                       {"blocks", row.blocks},
                       {"pool_tokens", row.blocks * row.block_size},
                       {"memory", row.budget.memory},
                       {"weight_bytes", row.budget.weights},
                       {"reserved_bytes", row.budget.reserved},
                       {"for_cache_bytes", row.budget.for_cache()}});
  }
  answer.json = {{"results", std::move(results)}};
  return answer;
}

}  // namespace

int report_budget(const SizeGrid& grid, const SizeOptions& o, cli::Session& session) {
  std::string before;
  const std::vector<Row> rows = asked_rows(grid, o, before);
  TableAnswer answer = dressed(rows, before);
  if (!rows.empty() && rows.front().blocks > 0) {
    answer.after = fmt::format("\nblocks are of {} tokens: {} blocks hold {} tokens\n",
                               rows.front().block_size, grouped(rows.front().blocks),
                               grouped(rows.front().blocks * rows.front().block_size));
  }
  const bool words = o.format == cli::Format::kText || o.format == cli::Format::kMarkdown;
  if (rows.empty() && words) {
    session.report().print("{}\n{}\n", before, why_nothing_fits(rows));
  } else {
    write_answer(answer, o.format, session.report());
  }
  session.did(fmt::format("fitted {} into {}", models_words(grid), short_size_text(*o.memory)));
  if (std::none_of(rows.begin(), rows.end(), fits)) return session.say_no(why_nothing_fits(rows));
  return cli::kDone;
}

}  // namespace attn
