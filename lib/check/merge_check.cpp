#include "check/merge_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Mistaken merges round otherwise than honest ones.
constexpr double kTwistedRoom = 4;
constexpr double kNearer = 0.5;
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

std::string parts_text(std::size_t subset, std::size_t count) {
  if (subset == (std::size_t{1} << count) - 1) return "the lse of all parts are of base 2";
  std::string text;
  for (std::size_t p = 0; p < count; ++p) {
    if ((subset >> p & 1) != 0) text += fmt::format("{}{}", text.empty() ? "" : ", ", p + 1);
  }
  return fmt::format("the lse of part {} is of base 2, the others natural", text);
}

// Would the merged answer be right, were some of the lse taken for logarithms of base 2?
std::optional<Diagnosis> base2_parts(const std::vector<PartialAnswer>& parts, FullyMasked empty,
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
    return Diagnosis{"lse-base2", parts_text(subset, parts.size()), DiagnosisKind::kMistake};
  }
  return std::nullopt;
}

// The merged answer against the reference of the whole.
AttentionReport check_whole(const AttentionProblem& problem, const std::vector<MergeFile>& parts,
                            const PartialAnswer& merged, int threads) {
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
    found.verdict.diagnosis = {*base2};
  }
  return found;
}

// What somebody merged against what is merged here.
class RecordedMerge {
 public:
  RecordedMerge(const MergeFile& whole, const std::vector<PartialAnswer>& parts,
                const PartialAnswer& merged, FullyMasked empty)
      : whole_(whole), parts_(parts), merged_(merged), empty_(empty) {}

  Verdict verdict() const {
    Verdict found;
    const AttentionCase& recorded = whole_.recorded;
    const PartialAnswer in_float = merge_answers_in_float(parts_, empty_);
    const DType dtype = tolerance_type(recorded.problem.rules);
    if (recorded.out) {
      require(*recorded.out, merged_.out, "out");
      LimitFinder finder(merged_.out, dtype);
      finder.add(in_float.out);
      const Limits limits = kept_in(recorded.stored.out, dtype, finder.limits(), merged_.out);
      found.checks.push_back(compare("out", *recorded.out, merged_.out, limits));
      if (found.checks.back().outcome == Outcome::kFail) explain_out(limits, found);
    }
    if (recorded.lse) {
      require(*recorded.lse, merged_.lse, "lse");
      // Kernels of 16-bit types keep lse in float32.
      const DType of_lse = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
      LimitFinder finder(merged_.lse, of_lse, 1);
      finder.add(in_float.lse);
      const Limits limits = kept_in(recorded.stored.lse, of_lse, finder.limits(), merged_.lse);
      found.checks.push_back(compare("lse", *recorded.lse, merged_.lse, limits));
      found.checks.back().axes = kAxesOfRows;
      if (found.checks.back().outcome == Outcome::kFail) explain_lse(limits, found);
    }
    if (found.outcome() == Outcome::kFail && found.diagnosis.empty()) {
      found.diagnosis.push_back({"numeric-error", "no mistake of merging with a name gives this",
                                 DiagnosisKind::kUnknown});
    }
    return found;
  }

 private:
  void require(const Tensor<double>& given, const Tensor<double>& merged, const char* name) const {
    if (given.shape == merged.shape) return;
    throw DataError(fmt::format("{}: {}: want {} as in the parts, got {}", whole_.name, name,
                                shape_text(merged.shape), shape_text(given.shape)));
  }

  void explain_out(const Limits& limits, Verdict& found) const {
    const double truth_ratio = found.checks.back().ratio();
    for (const MergeMistake& mistake : merge_mistakes(parts_, empty_)) {
      const Limits room{kTwistedRoom * limits.max_error, kTwistedRoom * limits.mean_error};
      const Check check = compare("", *whole_.recorded.out, mistake.answer.out, room);
      if (check.outcome != Outcome::kPass || check.ratio() > kNearer * truth_ratio) continue;
      add(mistake.name, mistake.detail, found);
    }
  }

  void explain_lse(const Limits& limits, Verdict& found) const {
    constexpr double kLog2e = 1.4426950408889634;
    PartialAnswer base2 = merged_;
    for (double& value : base2.lse.values) value *= kLog2e;
    Tensor<double> largest = parts_.front().lse;
    for (const PartialAnswer& part : parts_) {
      for (std::size_t row = 0; row < largest.values.size(); ++row) {
        largest.values[row] = std::max(largest.values[row], part.lse.values[row]);
      }
    }
    const Limits room{kTwistedRoom * limits.max_error, kTwistedRoom * limits.mean_error};
    const auto is = [&](const Tensor<double>& expected) {
      return compare("", *whole_.recorded.lse, expected, room).outcome == Outcome::kPass;
    };
    if (is(base2.lse)) add("lse-base2", "lse of the whole is log2 of the sum", found);
    for (const MergeMistake& mistake : merge_mistakes(parts_, empty_)) {
      if (mistake.name != "merge-part-lost" && mistake.name != "lse-base2") continue;
      if (is(mistake.answer.lse)) add(mistake.name, mistake.detail, found);
    }
    if (found.diagnosis.empty() && is(largest)) {
      add("lse-sum-missing", "lse of the whole is the largest of the parts'", found);
    }
  }

  // Under one name the first detail that fits is enough.
  static void add(const std::string& name, const std::string& detail, Verdict& found) {
    for (const Diagnosis& one : found.diagnosis) {
      if (one.name == name) return;
    }
    found.diagnosis.push_back({name, detail, DiagnosisKind::kMistake});
  }

  const MergeFile& whole_;
  const std::vector<PartialAnswer>& parts_;
  const PartialAnswer& merged_;
  FullyMasked empty_;
};

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
    const AttentionReport found = check_whole(*problem, parts, report.merged, threads);
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
  if (whole) {
    const Verdict found = RecordedMerge(*whole, answers, report.merged, empty).verdict();
    take_checks(found, "recorded", report.verdict);
    take_diagnosis(found.diagnosis, "", report.verdict);
  }
  return report;
}

}  // namespace attn
