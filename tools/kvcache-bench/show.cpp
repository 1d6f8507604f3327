#include "kvcache-bench/show.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/picture.h"
#include "core/counted.h"
#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

// What tells the rows apart beside the cache and the tokens.
struct Several {
  bool subjects = false;
  bool prompts = false;
};

std::string curve_name(const CacheRow& row, const Several& several) {
  std::string name =
      row.cache.cached() ? fmt::format("with a {} cache", way_name(row.cache)) : "without a cache";
  if (several.subjects) name += ", " + counted(row.kv_heads, "kv head");
  if (several.prompts) name += fmt::format(", P {}", grouped(row.work.prompt));
  return name;
}

// The rows that tell of a whole piece of work: both phases where there is a prompt.
std::vector<const CacheRow*> whole_rows(const CacheExperiment& experiment, bool prompt_apart) {
  std::vector<const CacheRow*> rows;
  for (const CacheRow& row : experiment.rows()) {
    if (row.phase == (prompt_apart ? "total" : "decode")) rows.push_back(&row);
  }
  return rows;
}

template <class Value>
std::vector<cli::Curve> curves_of(const std::vector<const CacheRow*>& rows, const Several& several,
                                  const Value& value) {
  std::vector<cli::Curve> curves;
  for (const CacheRow* row : rows) {
    const std::string name = curve_name(*row, several);
    auto curve = std::find_if(curves.begin(), curves.end(),
                              [&](const cli::Curve& one) { return one.label == name; });
    if (curve == curves.end()) curve = curves.insert(curve, cli::Curve{.label = name});
    curve->x.push_back(static_cast<double>(row->tokens));
    curve->y.push_back(value(*row));
  }
  return curves;
}

}  // namespace

void check_show(const cli::OptionTable& table, const BenchOptions& o) {
  if (!o.show) return;
  for (const char* other : {"requests", "lengths", "text", "preset"}) {
    if (table.given(other)) {
      throw UsageError(fmt::format("--show and --{} do not go together", other));
    }
  }
  const auto& counts = o.prompt_apart ? o.new_tokens : o.tokens;
  if (counts.size() > 1) return;
  throw UsageError(fmt::format("--show draws counts against tokens: give several --{}",
                               o.prompt_apart ? "new-tokens" : "tokens"),
                   {"such as --tokens 16-512+16, with --counts-only where times are not wanted"});
}

std::string bench_picture(const CacheExperiment& experiment, bool prompt_apart, bool timed,
                          const cli::Terminal& terminal) {
  const std::vector<const CacheRow*> rows = whole_rows(experiment, prompt_apart);
  Several several;
  several.subjects =
      std::any_of(rows.begin(), rows.end(), [](const CacheRow* row) { return row->subject > 0; });
  several.prompts = std::any_of(rows.begin(), rows.end(), [&rows](const CacheRow* row) {
    return row->work.prompt != rows.front()->work.prompt;
  });
  // Whatever the key-value heads, a projection multiplies the same rows: one curve a way.
  std::vector<const CacheRow*> of_first;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(of_first),
               [](const CacheRow* row) { return row->subject == 0; });
  cli::Chart counts{
      .title = "rows that a key projection multiplied, by its own count",
      .curves = curves_of(of_first, {false, several.prompts},
                          [](const CacheRow& row) { return static_cast<double>(row.key_rows); }),
      .x_is = prompt_apart ? "new tokens" : "tokens"};
  std::string text = cli::chart(counts, terminal);
  if (!timed) return text;
  cli::Chart times{.title = "milliseconds, the median",
                   .curves = curves_of(rows, several,
                                       [](const CacheRow& row) { return row.wall.median() / 1e6; }),
                   .x_is = counts.x_is};
  return text + "\n" + cli::chart(times, terminal);
}

}  // namespace attn
