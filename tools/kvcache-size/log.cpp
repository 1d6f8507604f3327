#include "kvcache-size/log.h"

#include <fmt/core.h>

#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "core/counted.h"
#include "core/error.h"
#include "core/text.h"
#include "io/byte_source.h"
#include "kvcache-size/table.h"
#include "sizing/server_log.h"

namespace attn {

using cli::Json;
using cli::Table;

int report_log(const SizeGrid& grid, const SizeOptions& o, cli::Session& session) {
  const ByteSource source = ByteSource::open(o.log, o.max_bytes);
  const auto figures = log_figures(as_text(source.bytes()));
  if (figures.empty()) {
    throw DataError(fmt::format("{}: no line about the cache in it", source.name()),
                    {"vLLM, SGLang and llama.cpp print theirs when they start"});
  }
  TableAnswer answer{
      .before = "",
      .people = Table({{"line"},
                       {"tokens"},
                       {"log"},
                       {"ours"},
                       {"", Table::Align::kLeft},
                       {"note", Table::Align::kLeft}}),
      .program = Table({{"line"}, {"tokens"}, {"log_bytes"}, {"our_bytes"}, {"agrees"}, {"note"}})};
  Json results = Json::array();
  bool all_agree = true;
  for (const LogVerdict& verdict :
       compared_with_log(grid.shapes.front(), figures, grid.types.front(), grid.ranks.front())) {
    const LogFigure& figure = verdict.figure;
    const char* word = !verdict.compared ? "-" : verdict.agrees ? "agrees" : "differs";
    all_agree = all_agree && (!verdict.compared || verdict.agrees);
    const auto size = [](double bytes) {
      return bytes > 0 ? short_size_text(static_cast<Index>(bytes)) : std::string("-");
    };
    answer.people.add(
        {fmt::format("{}", figure.line), figure.tokens > 0 ? grouped(figure.tokens) : "-",
         figure.concurrency > 0 ? fmt::format("{:.2f}x", figure.concurrency) : size(figure.bytes),
         size(verdict.ours), word, verdict.note});
    answer.program.add({fmt::format("{}", figure.line), fmt::format("{}", figure.tokens),
                        fmt::format("{:.0f}", figure.bytes), fmt::format("{:.0f}", verdict.ours),
                        word, verdict.note});
    results.push_back({{"line", figure.line},
                       {"text", figure.text},
                       {"tokens", figure.tokens},
                       {"log_bytes", figure.bytes},
                       {"our_bytes", verdict.ours},
                       {"compared", verdict.compared},
                       {"agrees", verdict.agrees},
                       {"note", verdict.note}});
  }
  answer.json = {{"verdict", all_agree ? "agrees" : "differs"}, {"results", std::move(results)}};
  write_answer(answer, o.format, session.report());
  session.did(fmt::format("held {} of {} against the formulas",
                          counted(std::ssize(figures), "figure"), source.name()));
  return all_agree ? cli::kDone : session.say_no("a line of the log differs");
}

}  // namespace attn
