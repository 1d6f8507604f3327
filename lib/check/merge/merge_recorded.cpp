#include "check/merge/merge_recorded.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "check/verdict/tolerance.h"
#include "core/error.h"
#include "core/text.h"

namespace attn {

namespace {

// Mistaken merges round otherwise than honest ones.
constexpr double kTwistedRoom = 4;
// Near the limit much is near: what is supposed has to come nearer than the right answer does.
constexpr double kNearer = 0.5;

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

}  // namespace

Verdict check_recorded_merge(const MergeFile& recorded, const std::vector<PartialAnswer>& parts,
                             const PartialAnswer& merged, FullyMasked empty) {
  return RecordedMerge(recorded, parts, merged, empty).verdict();
}

}  // namespace attn
