#include "check/merge/merge_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "check/merge/merge_recorded.h"
#include "check/merge/merge_whole.h"
#include "core/error.h"
#include "core/text.h"

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Mistaken merges round otherwise than honest ones.
constexpr double kTwistedRoom = 4;
// Beyond this many parts not every subset is tried.
constexpr std::size_t kMostSubsets = 5;

// Puts the checks that were made into the verdict of all, under a name of their own.
void take_checks(const Verdict& from, const std::string& prefix, Verdict& to) {
  for (Check check : from.checks) {
    if (check.outcome == Outcome::kNotChecked) continue;
    check.name = fmt::format("{}: {}", prefix, check.name);
    to.checks.push_back(std::move(check));
  }
}

void take_diagnosis(const std::vector<Diagnosis>& from, const std::string& prefix, Verdict& to) {
  for (Diagnosis one : from) {
    if (!prefix.empty()) {
      one.detail = one.detail.empty() ? prefix : fmt::format("{}: {}", prefix, one.detail);
    }
    to.diagnosis.push_back(std::move(one));
  }
}

std::vector<PartialAnswer> answers_of(const std::vector<MergeFile>& parts) {
  std::vector<PartialAnswer> answers;
  answers.reserve(parts.size());
  for (const MergeFile& part : parts) answers.push_back(part.answer());
  return answers;
}

// The coarsest type that a record of the parts was kept in.
DType coarsest(const std::vector<MergeFile>& parts, DType StoredTypes::*record) {
  DType found = DType::kF64;
  for (const MergeFile& part : parts) {
    const DType type = part.recorded.stored.*record;
    if (storage_rounding(type) > storage_rounding(found)) found = type;
  }
  return found;
}

// What is no number in a row that saw a key goes into the whole: nothing else tells of it.
void tell_of_no_numbers(const std::vector<MergeFile>& parts, const std::vector<PartialAnswer>& from,
                        std::vector<std::string>& remarks) {
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const Tensor<double>& out = from[p].out;
    const Index features = out.dim(3);
    Index rows = 0;
    for (Index row = 0; row < from[p].lse.size(); ++row) {
      if (from[p].lse.data()[row] == -kInfinity) continue;
      const double* first = out.data() + row * features;
      if (!std::all_of(first, first + features, [](double x) { return std::isfinite(x); })) ++rows;
    }
    if (rows == 0) continue;
    remarks.push_back(fmt::format("{}: out is not finite in {} {} that saw a key", parts[p].name,
                                  rows, rows == 1 ? "row" : "rows"));
  }
}

std::string parts_text(std::size_t subset, std::size_t count) {
  if (subset == (std::size_t{1} << count) - 1) return "the lse of all parts are of base 2";
  std::string text;
  for (std::size_t p = 0; p < count; ++p) {
    if ((subset >> p & 1) != 0) text += fmt::format("{}{}", text.empty() ? "" : ", ", p + 1);
  }
  return fmt::format("the lse of part {} is of base 2, the others natural", text);
}

// Parts some of whose lse are logarithms of base 2.
struct Base2Parts {
  Diagnosis diagnosis;
  std::vector<PartialAnswer> meant;  // with all lse natural
};

// Would the merged answer be right, were some of the lse taken for logarithms of base 2?
std::optional<Base2Parts> base2_parts(const std::vector<PartialAnswer>& parts, FullyMasked empty,
                                      const AttentionReport& found) {
  const std::size_t all = (std::size_t{1} << std::min<std::size_t>(parts.size(), 60)) - 1;
  std::vector<std::size_t> subsets = {all};
  if (parts.size() <= kMostSubsets) {
    for (std::size_t subset = 1; subset < all; ++subset) subsets.push_back(subset);
  }
  const Limits room{kTwistedRoom * found.of_out.max_error, kTwistedRoom * found.of_out.mean_error};
  for (const std::size_t subset : subsets) {
    std::vector<PartialAnswer> read = parts;
    for (std::size_t p = 0; p < read.size(); ++p) {
      if ((subset >> std::min<std::size_t>(p, 59) & 1) != 0) read[p] = from_base2(read[p]);
    }
    const PartialAnswer merged = merge_answers(read, empty);
    if (compare("", merged.out, found.truth.out, room).outcome != Outcome::kPass) continue;
    return Base2Parts{{"lse-base2", parts_text(subset, parts.size()), DiagnosisKind::kMistake},
                      std::move(read)};
  }
  return std::nullopt;
}

// The merged answer against the reference of the whole. Where it fails because some lse are of
// base 2, `meant` becomes the parts as they are meant.
AttentionReport check_whole(const AttentionProblem& problem, const std::vector<MergeFile>& parts,
                            const PartialAnswer& merged, int threads,
                            std::vector<PartialAnswer>& meant) {
  AttentionCase whole;
  whole.problem = problem;
  whole.out = merged.out;
  whole.lse = merged.lse;
  whole.stored.out = coarsest(parts, &StoredTypes::out);
  whole.stored.lse = coarsest(parts, &StoredTypes::lse);
  validate(whole);
  CheckSettings settings;
  settings.threads = threads;
  settings.answers = true;
  AttentionReport found = check_attention(whole, settings);
  if (!check_failed(found.verdict, "out")) return found;
  if (auto base2 = base2_parts(answers_of(parts), problem.rules.fully_masked, found)) {
    found.verdict.diagnosis = {base2->diagnosis};
    meant = std::move(base2->meant);
  }
  return found;
}

// What somebody merged, against the parts; where these are not what they seem and it is not merged
// of what they seem, against what they are meant to be. A mistake that has been named already is
// not named again.
void check_recorded(const MergeFile& whole, const std::vector<PartialAnswer>& answers,
                    const PartialAnswer& merged, const std::vector<PartialAnswer>& meant,
                    FullyMasked empty, MergeReport& report) {
  Verdict found = check_recorded_merge(whole, answers, merged, empty);
  if (found.outcome() == Outcome::kFail && !meant.empty()) {
    found = check_recorded_merge(whole, meant, merge_answers(meant, empty), empty);
    report.remarks.emplace_back("recorded is held to the parts with all lse natural");
  }
  take_checks(found, "recorded", report.verdict);
  for (const Diagnosis& one : found.diagnosis) {
    std::vector<Diagnosis>& known = report.verdict.diagnosis;
    const auto same = std::find_if(known.begin(), known.end(), [&one](const Diagnosis& other) {
      return other.name == one.name;
    });
    if (same == known.end()) {
      known.push_back(one);
    } else {
      same->detail += "; " + one.detail;
    }
  }
}

bool same_keys(const AttentionProblem& a, const AttentionProblem& b) {
  return a.k.shape == b.k.shape && a.v.shape == b.v.shape && a.k.values == b.k.values &&
         a.v.values == b.v.values;
}

// Each part that has keys of its own, not those of the whole, against their reference. Returns
// whether all of these pass.
bool check_parts(const std::vector<MergeFile>& parts, const AttentionProblem* whole, int threads,
                 Verdict& verdict) {
  bool all_pass = true;
  CheckSettings settings;
  settings.threads = threads;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (!parts[p].has_keys) continue;
    if (whole != nullptr && same_keys(parts[p].recorded.problem, *whole)) continue;
    const Verdict found = check_attention(parts[p].recorded, settings).verdict;
    const std::string name = fmt::format("part {}", p + 1);
    take_checks(found, name, verdict);
    take_diagnosis(found.diagnosis, name, verdict);
    all_pass = all_pass && found.outcome() == Outcome::kPass;
  }
  return all_pass;
}

}  // namespace

PartSummary summary_of_part(const MergeFile& part) {
  PartSummary one;
  one.name = part.name;
  if (part.has_keys) one.keys = part.recorded.problem.kv_len();
  one.least_lse = kInfinity;
  one.largest_lse = -kInfinity;
  for (const double lse : part.recorded.lse->values) {
    ++one.rows;
    if (lse == -kInfinity) {
      ++one.empty;
      continue;
    }
    one.least_lse = std::min(one.least_lse, lse);
    one.largest_lse = std::max(one.largest_lse, lse);
  }
  return one;
}

MergeReport check_merge(const std::vector<MergeFile>& parts, const std::optional<MergeFile>& whole,
                        int threads) {
  MergeReport report;
  for (const MergeFile& part : parts) report.parts.push_back(summary_of_part(part));
  const std::vector<PartialAnswer> answers = answers_of(parts);
  const FullyMasked empty = parts.front().recorded.problem.rules.fully_masked;
  report.merged = merge_answers(answers, empty);
  tell_of_no_numbers(parts, answers, report.remarks);

  std::vector<PartialAnswer> meant;
  WholeProblem of_parts = whole_of_parts(parts);
  const AttentionProblem* problem = of_parts.problem ? &*of_parts.problem : nullptr;
  if (whole && whole->has_keys) problem = &whole->recorded.problem;
  check_parts(parts, problem, threads, report.verdict);
  if (of_parts.joined && problem == &*of_parts.problem) {
    report.remarks.emplace_back("the whole: the keys of all parts, one behind another");
  }
  if (problem == nullptr) {
    report.remarks.push_back(fmt::format("the whole was not checked: {}", of_parts.missing));
  } else {
    const Shape want = {problem->batch(), problem->heads(), problem->q_len(), problem->value_dim()};
    if (report.merged.out.shape != want) {
      throw DataError(fmt::format("{}: out: want {} as the whole has it, got {}",
                                  parts.front().name, shape_text(want),
                                  shape_text(report.merged.out.shape)));
    }
    const AttentionReport found = check_whole(*problem, parts, report.merged, threads, meant);
    Verdict own;
    const bool failed = found.verdict.outcome() == Outcome::kFail;
    const bool of_one_part =
        problem == (of_parts.problem ? &*of_parts.problem : nullptr) && !of_parts.joined;
    if (failed && of_one_part && check_parts(parts, nullptr, threads, own)) {
      // A file whose answer is right by its own keys has these alone.
      report.verdict = own;
      report.remarks.emplace_back(
          "the whole was not checked: the keys that are there are those of a part");
    } else {
      take_checks(found.verdict, "merged", report.verdict);
      if (report.verdict.diagnosis.empty()) {
        take_diagnosis(found.verdict.diagnosis, "", report.verdict);
      }
    }
  }
  if (whole) check_recorded(*whole, answers, report.merged, meant, empty, report);
  return report;
}

}  // namespace attn
