#pragma once

#include <functional>
#include <string>
#include <vector>

#include "check/case_part.h"
#include "check/matcher.h"

namespace attn {

/// At most 256 rows around `worst` (batch, head, row, ...), of as many heads and sequences as fit
/// into memory with their keys: mistakes may mix these up. All keys where they fit, else those in
/// sight and some on both sides. No rows where not even one row's keys fit.
CasePart part_to_diagnose(const AttentionCase& outline, const std::vector<Index>& worst);

/// A supposition that fits the rows that were tried.
struct Candidate {
  std::string name;
  std::string detail;
  bool in_full = false;    // it was held against all rows
  bool confirmed = false;  // and fits them
  Check check;             // how far all rows are from it
};

/// The suppositions of these names that fit the findings of a part, which come from its rows.
std::vector<Candidate> candidates(const Findings& of_part, const std::vector<Diagnosis>& found);

/// Holds the candidates against out (or lse, where out was not recorded) of the whole case, a run
/// of rows at a time. A candidate stays as it is where one sequence's keys do not fit into memory.
/// `allowed` are the limits and `truth_size` is the largest number of the truth. Calls done(rows).
void confirm(const PartedCase& source, Subject::Part part, const Limits& allowed, double truth_size,
             int threads, const std::function<void(Index)>& done, std::vector<Candidate>& tried);

/// "causal-missing: found on 256 rows, holds on all 524,288", or where it does not.
std::string confirmation_text(const Candidate& candidate, Index rows_tried, Index all_rows);

}  // namespace attn
