#pragma once

#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>

#include "check/reference/attention_problem.h"
#include "check/verdict/verdict.h"

namespace attn {

/// Collects the largest of many errors and where it stands.
class WorstError {
 public:
  explicit WorstError(std::string name) { check_.name = std::move(name); }

  void add(double error, std::initializer_list<Index> where) {
    if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
    ++count_;
    if (error <= check_.max_error && !check_.where.empty()) return;
    check_.max_error = error;
    check_.where = where;
  }

  Check result(double limit, const char* why_none) {
    if (count_ == 0) return not_checked(check_.name, why_none);
    check_.limit = limit;
    check_.outcome = check_.max_error <= limit ? Outcome::kPass : Outcome::kFail;
    return check_;
  }

 private:
  Check check_;
  Index count_ = 0;
};

/// Calls task(at, b, h, i) for each query row of each head; `at` counts them.
template <class Task>
void for_each_row(const AttentionProblem& problem, const Task& task) {
  Index at = 0;
  for (Index b = 0; b < problem.batch(); ++b) {
    for (Index h = 0; h < problem.heads(); ++h) {
      for (Index i = 0; i < problem.q_len(); ++i) task(at++, b, h, i);
    }
  }
}

}  // namespace attn
