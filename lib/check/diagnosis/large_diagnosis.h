#pragma once

#include <functional>
#include <string>
#include <vector>

#include "check/cases/case_part.h"
#include "check/cases/honest_limits.h"
#include "check/diagnosis/diagnose.h"

namespace attn {

/// At most 256 rows around `worst` (batch, head, row, ...), of as many heads and sequences as fit
/// into memory with their keys: mistakes may mix these up. All keys where they fit, else those in
/// sight and some on both sides. No rows where not even one row's keys fit.
CasePart part_to_diagnose(const AttentionCase& outline, const std::vector<Index>& worst);

/// What is known of a large case that failed.
struct LargeFindings {
  const PartedCase& source;
  const Verdict& verdict;
  const AnswerLimits& allowed;
  std::vector<Index> worst;  // where the largest error of the first failing record sits
  double truth_size = 0;     // the largest number of that record's truth
  int threads = 1;
  std::function<void(double)> done;  // told each share of all rows that has been tried
};

/// Tries known mistakes on some rows, then what explains these on all: a remark says whether it
/// holds there, or what was not tried.
std::vector<Diagnosis> diagnose_large(const LargeFindings& findings,
                                      std::vector<std::string>& remarks);

}  // namespace attn
