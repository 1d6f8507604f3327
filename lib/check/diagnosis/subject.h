#pragma once

#include <optional>

#include "check/diagnosis/diagnose.h"

namespace attn {

/// The recorded tensor that suppositions are held against: the first of out, weights, scores and
/// lse that fails.
struct Subject {
  enum class Part { kOut, kWeights, kScores, kLse };
  Part part = Part::kOut;
  Tensor<double> given;  // scores hidden by large negative numbers are minus infinity
  Limits allowed;
};

/// Nothing where only a law or another run failed.
std::optional<Subject> choose_subject(const Findings& findings);

/// The part of an answer that a subject is about.
const Tensor<double>& part_of(const AttentionAnswer& answer, Subject::Part part);

/// Recorded scores as the truth has them: a large negative number that stands in for minus infinity
/// becomes it.
Tensor<double> comparable_scores(const Tensor<double>& given, const Tensor<double>& truth);

}  // namespace attn
