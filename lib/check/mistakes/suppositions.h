#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "check/mistakes/twisted_attention.h"

namespace attn {

/// A known mistake that somebody may have made: its name, the problem as they saw it, and the step
/// they took differently. Several may share a name. as_seen may follow another mistake's: it finds
/// nothing to do where that one left nothing.
struct Supposition {
  std::string name;
  std::function<AttentionProblem(const AttentionProblem&)> as_seen;
  Twist twist = Twist::kNone;
  double parameter = 0;
  std::string detail{};     // in numbers: "left 5 where 4 was wanted"; may be empty
  bool with_others = true;  // is it tried together with another mistake?
  bool rows_told = false;   // are the rows that it moves part of the diagnosis?

  Supposition& says(std::string text) {
    detail = std::move(text);
    return *this;
  }
  Supposition& alone() {
    with_others = false;
    return *this;
  }
  Supposition& tells_rows() {
    rows_told = true;
    return *this;
  }

  AttentionAnswer answer(const AttentionProblem& problem, int threads) const {
    return twisted_attention(as_seen(problem), twist, parameter, threads);
  }
};

/// All that can be supposed of a problem, the most specific first: nothing about a mask where there
/// is none.
std::vector<Supposition> suppositions(const AttentionProblem& problem);

}  // namespace attn
