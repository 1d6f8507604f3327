#include "attn-check/explain.h"

#include <fmt/core.h>

#include "check/verdict/explanations.h"
#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/table.h"
#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

using cli::Format;
using cli::Json;
using cli::Table;

Json explanation_json(const Explanation& one) {
  Json document;
  document["name"] = one.name;
  document["topic"] = one.topic;
  document["what"] = one.what;
  document["cause"] = one.cause;
  document["text"] = one.text;
  return document;
}

void print_list(Format format, cli::Report& report) {
  if (format == Format::kJson) {
    Json document = Json::array();
    for (const Explanation& one : explanations()) document.push_back(explanation_json(one));
    report.write(cli::json_text(document));
    return;
  }
  Table table({{"name", Table::Align::kLeft},
               {"topic", Table::Align::kLeft},
               {"what it is", Table::Align::kLeft}});
  for (const Explanation& one : explanations()) {
    table.add({std::string(one.name), std::string(one.topic), std::string(one.what)});
  }
  report.write(format == Format::kTsv ? table.tsv() : table.text());
}

const Explanation& explanation_of(const std::string& name) {
  if (const Explanation* found = find_explanation(name)) return *found;
  std::vector<std::string> hints;
  const std::string nearest = nearest_mistake(name);
  if (!nearest.empty()) hints.push_back(fmt::format("did you mean '{}'?", nearest));
  hints.emplace_back("`attn-check --explain list` names all");
  throw UsageError(fmt::format("--explain: no mistake is called '{}'", escaped(name)), hints);
}

}  // namespace

int run_explain(const CheckOptions& o, cli::Session& session) {
  cli::Report& report = session.report();
  if (o.explain == "list") {
    print_list(o.format, report);
    session.did(fmt::format("listed {} mistakes", explanations().size()));
    return cli::kDone;
  }
  const Explanation& one = explanation_of(o.explain);
  session.did(fmt::format("explained {}", one.name));
  if (o.format == Format::kJson) {
    report.write(cli::json_text(explanation_json(one)));
  } else {
    report.print("{}\n  {}\n  {}\n\n{}\n", one.name, one.what, one.cause, one.text);
  }
  return cli::kDone;
}

}  // namespace attn
