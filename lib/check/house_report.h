#pragma once

#include <optional>
#include <string>
#include <vector>

#include "check/check_attention.h"
#include "check/verdict/houses.h"

namespace attn {

/// What every house says of one recorded tensor, and whose word counts.
struct HouseReport {
  std::string tensor;  // "out", else what was recorded of "weights", "lse"
  HouseRule chosen;
  std::vector<HouseDecision> decisions;  // the chosen one among them
  std::string remark;                    // who would decide otherwise than the chosen one

  const HouseDecision& decision() const;
};

/// Asks all houses about out; where none was recorded about weights, else about lse. None of these:
/// no report.
std::optional<HouseReport> ask_houses(const AttentionCase& recorded, const AttentionReport& found,
                                      const HouseRule& chosen, int threads);

/// Lets the chosen house decide: its word takes the place of that check's outcome, and no other
/// check counts, as no other is in that house's tests. Nothing changes for this program's own.
void decide_as(const HouseReport& houses, Verdict& verdict);

/// "ggml and pcc=0.99 would pass this"; "all houses fail this".
std::string house_remark(const std::vector<HouseDecision>& decisions, const HouseRule& chosen);

}  // namespace attn
