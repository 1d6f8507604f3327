#pragma once

#include <functional>
#include <string>
#include <vector>

#include "check/twisted_attention.h"

namespace attn {

/// A known mistake that somebody may have made: its name, the problem as they saw it, and the step
/// they took differently. Several may share a name. as_seen may follow another mistake's: it finds
/// nothing to do where that one left nothing.
struct Supposition {
  std::string name;
  std::function<AttentionProblem(const AttentionProblem&)> as_seen;
  Twist twist = Twist::kNone;
  double parameter = 0;

  AttentionAnswer answer(const AttentionProblem& problem, int threads) const {
    return twisted_attention(as_seen(problem), twist, parameter, threads);
  }
};

/// All that can be supposed of a problem, the most specific first: nothing about a mask where there
/// is none.
std::vector<Supposition> suppositions(const AttentionProblem& problem);

}  // namespace attn
