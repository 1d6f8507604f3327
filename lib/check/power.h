#pragma once

#include <string>
#include <vector>

#include "check/reference/attention_problem.h"
#include "check/verdict/houses.h"

namespace attn {

/// What a test with some inputs and some tolerance would see of a mistake.
enum class Notice {
  kNoticed,        // it would fail, in every form the mistake takes
  kPartly,         // some forms would pass
  kUnnoticed,      // it would pass
  kNotApplicable,  // the problem has nothing that this mistake is about
};
const char* notice_name(Notice notice);

/// One named mistake under a test's eyes.
struct MistakePower {
  std::string name;
  Notice notice = Notice::kNotApplicable;
  Index forms = 0;    // forms of it that move the answer at all, or 1 where none does
  Index noticed = 0;  // of these
  double found = 0;   // of the form that comes nearest to passing, as the house measures it
  double limit = 0;
  std::string advice;  // what to change in the inputs; empty where all forms are noticed
};

/// Commits each known mistake on purpose, in float64, and holds what comes out to the truth as the
/// house's tests would. In the order of suppositions; those that do not apply come last.
/// Throws DataError for more than kMostForPower weights.
std::vector<MistakePower> test_power(const AttentionProblem& problem, const HouseRule& house,
                                     int threads);

/// Would any mistake that applies go unnoticed, in any of its forms?
bool any_unnoticed(const std::vector<MistakePower>& power);

/// Weights of all heads together up to which the mistakes are committed.
inline constexpr Index kMostForPower = Index{1} << 24;

}  // namespace attn
