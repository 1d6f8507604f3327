#include "attn-check/power.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "attn-check/subject.h"
#include "check/power.h"
#include "check/verdict/rules_text.h"
#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/table.h"
#include "core/counted.h"
#include "core/text.h"

namespace attn {
namespace {

using cli::Format;
using cli::Json;
using cli::Table;

Index count_of(const std::vector<MistakePower>& power, Notice notice) {
  return std::count_if(power.begin(), power.end(),
                       [&](const MistakePower& one) { return one.notice == notice; });
}

std::string number_text(double number) {
  return number == 0 ? "0" : fmt::format("{:.2e}", number);
}

// What stops nothing first: the reader came for it.
std::vector<MistakePower> worst_first(std::vector<MistakePower> power) {
  const auto rank = [](const MistakePower& one) {
    switch (one.notice) {
      case Notice::kUnnoticed:
        return 0;
      case Notice::kPartly:
        return 1;
      case Notice::kNoticed:
        return 2;
      case Notice::kNotApplicable:
        break;
    }
    return 3;
  };
  std::stable_sort(power.begin(), power.end(),
                   [&](const MistakePower& a, const MistakePower& b) { return rank(a) < rank(b); });
  return power;
}

Table power_table(const std::vector<MistakePower>& power) {
  Table table({{"mistake", Table::Align::kLeft},
               {"verdict", Table::Align::kLeft},
               {"forms"},
               {"found"},
               {"limit"},
               {"what to change", Table::Align::kLeft}});
  for (const MistakePower& one : power) {
    const bool tried = one.notice != Notice::kNotApplicable;
    table.add({one.name, notice_name(one.notice),
               tried ? fmt::format("{}/{}", one.noticed, one.forms) : "",
               tried ? number_text(one.found) : "", tried ? number_text(one.limit) : "",
               one.advice});
  }
  return table;
}

Json power_json(const std::vector<MistakePower>& power, const HouseRule& house) {
  Json document;
  document["verdict"] = any_unnoticed(power) ? "fail" : "pass";
  document["tolerance"] = house_name(house);
  for (const Notice notice :
       {Notice::kNoticed, Notice::kPartly, Notice::kUnnoticed, Notice::kNotApplicable}) {
    std::string key = notice_name(notice);
    std::replace(key.begin(), key.end(), ' ', '_');
    document[key] = count_of(power, notice);
  }
  Json mistakes = Json::array();
  for (const MistakePower& one : power) {
    const bool tried = one.notice != Notice::kNotApplicable;
    Json entry;
    entry["name"] = one.name;
    entry["notice"] = notice_name(one.notice);
    entry["forms"] = one.forms;
    entry["noticed"] = one.noticed;
    entry["found"] = tried ? cli::json_number(one.found) : Json(nullptr);
    entry["limit"] = tried ? cli::json_number(one.limit) : Json(nullptr);
    entry["advice"] = one.advice;
    mistakes.push_back(std::move(entry));
  }
  document["mistakes"] = std::move(mistakes);
  return document;
}

}  // namespace

int run_power(const CheckOptions& o, cli::Session& session) {
  const CheckSubject subject = read_subject(o);
  const AttentionProblem& problem = subject.recorded.problem;
  const HouseRule house = o.tolerance.value_or(HouseRule{});
  const std::vector<MistakePower> power =
      worst_first(test_power(problem, house, static_cast<int>(o.threads)));
  const bool unnoticed = any_unnoticed(power);
  cli::Report& report = session.report();
  if (o.format == Format::kJson) {
    report.write(cli::json_text(power_json(power, house)));
  } else if (o.format == Format::kTsv) {
    report.write(power_table(power).tsv());
  } else {
    report.print("{}\n  q {}  k {}  v {}  (batch, heads, rows, features)\n  {}\n", subject.name,
                 shape_text(problem.q.shape), shape_text(problem.k.shape),
                 shape_text(problem.v.shape), rules_text(problem));
    report.print("\nwould a test of out with the tolerance of {} notice this mistake?\n{}",
                 house_name(house), power_table(power).text());
    report.print("\n{} noticed, {} partly, {} unnoticed, {} not applicable\n",
                 count_of(power, Notice::kNoticed), count_of(power, Notice::kPartly),
                 count_of(power, Notice::kUnnoticed), count_of(power, Notice::kNotApplicable));
  }
  session.did(fmt::format("tried {} on {}: {} unnoticed", counted(std::ssize(power), "mistake"),
                          subject.name, count_of(power, Notice::kUnnoticed)));
  return unnoticed ? cli::kNo : cli::kDone;
}

}  // namespace attn
