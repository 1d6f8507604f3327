#include "check/diagnosis/subject.h"

#include <limits>

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Stand-ins for minus infinity in recorded scores are at or below this.
constexpr double kSentinel = -1e4;

}  // namespace

Tensor<double> comparable_scores(const Tensor<double>& given, const Tensor<double>& truth) {
  Tensor<double> scores = given;
  for (std::size_t n = 0; n < scores.values.size(); ++n) {
    if (truth.values[n] == -kInfinity && scores.values[n] <= kSentinel)
      scores.values[n] = -kInfinity;
  }
  return scores;
}

const Tensor<double>& part_of(const AttentionAnswer& answer, Subject::Part part) {
  switch (part) {
    case Subject::Part::kOut:
      return answer.out;
    case Subject::Part::kWeights:
      return answer.weights;
    case Subject::Part::kScores:
      return answer.scores;
    case Subject::Part::kLse:
      break;
  }
  return answer.lse;
}

std::optional<Subject> choose_subject(const Findings& f) {
  if (check_failed(f.verdict, "out"))
    return Subject{Subject::Part::kOut, *f.recorded.out, f.of_out};
  if (check_failed(f.verdict, "weights")) {
    return Subject{Subject::Part::kWeights, *f.recorded.weights, f.of_weights};
  }
  if (check_failed(f.verdict, "scores") && f.recorded.scores_stage == ScoreStage::kMasked) {
    return Subject{Subject::Part::kScores, comparable_scores(*f.recorded.scores, f.truth.scores),
                   f.of_scores};
  }
  if (check_failed(f.verdict, "lse"))
    return Subject{Subject::Part::kLse, *f.recorded.lse, f.of_lse};
  return std::nullopt;
}

}  // namespace attn
