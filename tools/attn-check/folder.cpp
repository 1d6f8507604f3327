#include "attn-check/folder.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "attn-check/subject.h"
#include "check/check_attention.h"
#include "check/verdict/explanations.h"
#include "check/verdict/joint_diagnosis.h"
#include "cli/exit_code.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "core/counted.h"
#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

namespace fs = std::filesystem;

struct CheckedFile {
  std::string name;
  Verdict verdict;
  bool has_out = false;
  std::string error{};  // why it could not be read; else empty
};

std::vector<fs::path> files_in(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const bool hidden = entry.path().filename().string().starts_with(".");
    if (entry.is_regular_file() && !hidden) files.push_back(entry.path());
  }
  if (error) throw DataError(fmt::format("{}: {}", escaped(folder), error.message()));
  if (files.empty()) throw DataError(escaped(folder) + ": holds no files");
  // By number where the names are numbers: 2.npz before 10.npz.
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    const std::string x = a.filename().string();
    const std::string y = b.filename().string();
    const std::size_t digits_x = x.find_first_not_of("0123456789");
    const std::size_t digits_y = y.find_first_not_of("0123456789");
    if (digits_x > 0 && digits_y > 0 && digits_x != digits_y) return digits_x < digits_y;
    return x < y;
  });
  return files;
}

// The check with the largest part of what it may be off by.
const Check* worst_check(const Verdict& verdict) {
  const Check* worst = nullptr;
  for (const Check& check : verdict.checks) {
    if (check.outcome == Outcome::kNotChecked || !check.counts) continue;
    if (worst == nullptr || check.ratio() > worst->ratio()) worst = &check;
  }
  return worst;
}

// Names of mistakes; where there are none, what the numbers show.
std::vector<std::string> names_that_fit(const Verdict& verdict) {
  std::vector<std::string> mistakes;
  std::vector<std::string> others;
  for (const Diagnosis& one : verdict.diagnosis) {
    (one.kind == DiagnosisKind::kMistake ? mistakes : others).push_back(one.name);
  }
  return mistakes.empty() ? others : mistakes;
}

cli::Table table_of(const std::vector<CheckedFile>& files) {
  using Align = cli::Table::Align;
  cli::Table table({{"file", Align::kLeft},
                    {"verdict", Align::kLeft},
                    {"max error"},
                    {"limit"},
                    {"ratio"},
                    {"check", Align::kLeft},
                    {"where", Align::kLeft},
                    {"diagnosis", Align::kLeft}});
  for (const CheckedFile& file : files) {
    const Outcome outcome = file.verdict.outcome();
    const Check* worst = worst_check(file.verdict);
    if (!file.error.empty()) {
      table.add({file.name, "not read", "", "", "", "", "", ""});
      continue;
    }
    const std::string verdict =
        outcome == Outcome::kNotChecked ? "no out yet" : outcome_name(outcome);
    if (worst == nullptr) {
      table.add({file.name, verdict, "", "", "", "", "", ""});
      continue;
    }
    table.add({file.name, verdict, fmt::format("{:.2e}", worst->max_error),
               fmt::format("{:.2e}", worst->limit), fmt::format("{:.3g}", worst->ratio()),
               worst->name, worst->max_error > 0 ? shape_text(worst->where) : "",
               fmt::format("{}", fmt::join(names_that_fit(file.verdict), ", "))});
  }
  return table;
}

std::vector<std::string> words_on(const JointDiagnosis& joint, std::size_t failing) {
  std::vector<std::string> lines;
  for (const std::string& name : joint.common) {
    lines.push_back(
        fmt::format("diagnosis: {}{}", name,
                    failing > 1 ? fmt::format(" (fits all {} that fail)", failing) : ""));
    const Explanation* known = find_explanation(name);
    if (known != nullptr) lines.push_back(fmt::format("  {}\n  {}", known->what, known->cause));
  }
  if (!joint.common.empty()) return lines;
  constexpr std::size_t kMostNamed = 3;
  for (std::size_t n = 0; n < std::min(joint.others.size(), kMostNamed); ++n) {
    lines.push_back(fmt::format("diagnosis: {} (fits {} of {} that fail)", joint.others[n].first,
                                joint.others[n].second, failing));
  }
  if (lines.empty()) lines.emplace_back("diagnosis: numeric-error");
  return lines;
}

CheckedFile check_file(const fs::path& path, const CheckOptions& o) {
  CheckOptions one = o;
  one.input = path.string();
  const CheckSubject subject = read_subject(one, Values::kNeeded, Residence::kFile);
  CheckSettings settings;
  settings.threads = static_cast<int>(o.threads);
  CheckedFile file;
  file.name = escaped(path.filename().string());
  file.has_out = subject.recorded.out.has_value();
  file.verdict = subject.stored ? check_attention(*subject.stored, settings).verdict
                                : check_attention(subject.recorded, settings).verdict;
  return file;
}

// One file that is no case does not keep the others from being checked.
CheckedFile check_or_note(const fs::path& path, const CheckOptions& o) {
  try {
    return check_file(path, o);
  } catch (const DataError& error) {
    CheckedFile file;
    file.name = escaped(path.filename().string());
    file.error = error.what();
    return file;
  }
}

void print_json(const std::vector<CheckedFile>& files, const char* verdict,
                const std::vector<std::string>& names, cli::Report& report) {
  cli::Json each = cli::Json::array();
  for (const CheckedFile& file : files) {
    const Check* worst = worst_check(file.verdict);
    const Outcome outcome = file.verdict.outcome();
    cli::Json one = {{"file", file.name},
                     {"verdict", outcome == Outcome::kNotChecked ? "none" : outcome_name(outcome)},
                     {"diagnosis", names_that_fit(file.verdict)}};
    if (!file.error.empty()) one["verdict"] = "not read";
    one["check"] = worst == nullptr ? cli::Json() : cli::Json(worst->name);
    one["max_error"] = worst == nullptr ? cli::Json() : cli::json_number(worst->max_error);
    one["limit"] = worst == nullptr ? cli::Json() : cli::json_number(worst->limit);
    if (!file.error.empty()) one["error"] = file.error;
    each.push_back(std::move(one));
  }
  cli::Json document = {{"verdict", verdict}, {"diagnosis", names}};
  document["files"] = std::move(each);
  report.write(cli::json_text(document));
}

}  // namespace

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

int run_folder(const CheckOptions& o, cli::Session& session) {
  if (!o.output.empty()) throw UsageError("--output goes with one case, not with a folder of them");
  std::vector<CheckedFile> files;
  {
    const std::vector<fs::path> paths = files_in(o.input);
    cli::Progress progress =
        cli::Progress::of_patience(session, static_cast<Index>(paths.size()), "files");
    for (const fs::path& path : paths) {
      files.push_back(check_or_note(path, o));
      progress.update(static_cast<Index>(files.size()), escaped(path.filename().string()));
    }
  }
  std::vector<std::vector<std::string>> found;
  std::size_t open = 0;
  std::size_t unread = 0;
  for (const CheckedFile& file : files) {
    if (!file.error.empty()) {
      ++unread;
      continue;
    }
    const Outcome outcome = file.verdict.outcome();
    if (outcome == Outcome::kFail) found.push_back(names_that_fit(file.verdict));
    if (outcome == Outcome::kNotChecked) ++open;
  }
  const JointDiagnosis joint = join_diagnoses(found);
  const char* verdict = !found.empty() ? "fail" : open + unread > 0 ? "none" : "pass";
  std::vector<std::string> names = joint.common;
  if (names.empty() && !joint.others.empty()) names.push_back(joint.others.front().first);
  if (names.empty() && !found.empty()) names.emplace_back("numeric-error");
  cli::Report& report = session.report();
  if (o.format == cli::Format::kJson) {
    print_json(files, verdict, names, report);
  } else if (o.format == cli::Format::kTsv) {
    report.write(table_of(files).tsv());
  } else {
    report.write(table_of(files).text());
    for (const CheckedFile& file : files) {
      if (!file.error.empty()) report.print("{}\n", file.error);
    }
    report.print("\nverdict: {}{}{}\n", verdict,
                 open > 0 ? fmt::format(", {} of {} have no out yet", open, files.size()) : "",
                 unread > 0 ? fmt::format(", {} of {} not read", unread, files.size()) : "");
    if (!found.empty()) {
      for (const std::string& line : words_on(joint, found.size())) report.print("{}\n", line);
    }
  }
  session.did(fmt::format("checked {} of {}: {}", counted(std::ssize(files), "file"),
                          escaped(o.input), verdict));
  if (unread > 0) return cli::kData;
  // A set that is not whole has not passed.
  return found.empty() && open == 0 ? cli::kDone : cli::kNo;
}

}  // namespace attn
