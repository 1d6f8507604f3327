#include "check/mistakes/gradient_suppositions.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "check/cases/case_file.h"
#include "check/mistakes/suppositions.h"

namespace attn {

namespace {

using Names = std::vector<std::string>;
using View = std::shared_ptr<const BackwardView>;

View view(const AttentionProblem& problem, bool stored_lse) {
  return std::make_shared<const BackwardView>(BackwardView{problem, stored_lse});
}

// What is supposed of one problem, as it is collected.
class GradientList {
 public:
  GradientList(const AttentionProblem& problem, const Tensor<double>& d_out,
               const AttentionGradient& truth)
      : problem_(problem), d_out_(d_out), truth_(truth), right_(view(problem, false)) {}

  std::vector<GradientSupposition> take() { return std::move(found_); }

  void steps(Names names, const BackwardSteps& steps, std::string detail = "") {
    viewed(std::move(names), right_, right_, steps, std::move(detail));
  }

  void viewed(Names names, const View& for_values, const View& for_scores,
              const BackwardSteps& steps, std::string detail) {
    found_.push_back({std::move(names), std::move(detail),
                      [problem = &problem_, d_out = &d_out_, for_values, for_scores, steps] {
                        return twisted_gradient(*problem, *d_out, *for_values, *for_scores, steps,
                                                1);
                      }});
  }

  const View& right() const { return right_; }

  // The right gradient after a change.
  void changed(Names names, std::function<void(AttentionGradient&)> change,
               std::string detail = "") {
    found_.push_back({std::move(names), std::move(detail), [truth = &truth_, change] {
                        AttentionGradient answer = *truth;
                        change(answer);
                        return answer;
                      }});
  }

 private:
  const AttentionProblem& problem_;
  const Tensor<double>& d_out_;
  const AttentionGradient& truth_;
  const View right_;
  std::vector<GradientSupposition> found_;
};

void suppose_groups(const AttentionProblem& problem, GradientList& list) {
  if (problem.kv_heads() == problem.heads()) return;
  BackwardSteps steps;
  steps.group = GroupSum::kLast;
  list.steps({"gqa-not-summed"}, steps, "only the last query head of a group counts");
  steps.group = GroupSum::kFirst;
  list.steps({"gqa-not-summed"}, steps, "only the first query head of a group counts");
  steps.group = GroupSum::kMean;
  list.steps({"gqa-averaged"}, steps);
  if (problem.kv_heads() == 1) return;
  steps.group = GroupSum::kTiled;
  list.steps({"gqa-tiled-in-backward", "gqa-tiled"}, steps,
             "summed over heads h, h + kv_heads, ...");
}

void suppose_scales_of_gradients(const AttentionProblem& problem, GradientList& list) {
  if (problem.scale() == 1 || problem.scale() == 0) return;
  BackwardSteps steps;
  steps.query_scale = 0;
  list.steps({"scale-missing-on-dq"}, steps);
  steps.key_scale = 0;
  list.steps({"scale-missing-in-backward"}, steps);
  steps.query_scale = 1;
  list.steps({"scale-missing-on-dk"}, steps);
  steps.key_scale = 2;
  list.steps({"scale-twice-on-dk"}, steps);
  steps.query_scale = 2;
  list.steps({"scale-twice-in-backward"}, steps);
  steps.key_scale = 1;
  list.steps({"scale-twice-on-dq"}, steps);
}

void suppose_softmax_steps(const AttentionProblem& problem, GradientList& list) {
  BackwardSteps steps;
  steps.delta = 0;
  list.steps({"delta-missing"}, steps);
  steps.delta = -1;
  list.steps({"delta-sign"}, steps);
  steps = {};
  steps.scores = ScoreGradient::kNoWeights;
  list.steps({"softmax-derivative-missing"}, steps, "dS = dP - delta, without the weights");
  steps.delta = 0;
  list.steps({"softmax-derivative-missing"}, steps, "dS = dP");
  steps = {};
  steps.scores = ScoreGradient::kDiagonal;
  list.steps({"softmax-derivative-diagonal"}, steps);
  if (problem.rules.softcap == 0) return;
  steps = {};
  steps.cap_slope = false;
  list.steps({"softcap-derivative-missing"}, steps);
}

void suppose_products(const AttentionProblem& problem, GradientList& list) {
  BackwardSteps steps;
  steps.values = ValueWeights::kUnnormalised;
  list.steps({"dv-from-wrong-weights"}, steps, "not divided by their sum");
  steps.values = ValueWeights::kScores;
  list.steps({"dv-from-wrong-weights"}, steps, "scores in place of weights");
  if (problem.q_len() == problem.kv_len()) {
    steps.values = ValueWeights::kTransposed;
    list.steps({"dv-transposed"}, steps);
    steps = {};
    steps.query_turned = true;
    list.steps({"dq-transposed"}, steps);
    steps.key_turned = true;
    list.steps({"dq-transposed", "dk-transposed"}, steps);
    steps.query_turned = false;
    list.steps({"dk-transposed"}, steps);
  }
  for (Index tile : {4, 8, 16, 32, 64, 128}) {
    steps = {};
    steps.queries = problem.q_len() / tile * tile;
    if (steps.queries == problem.q_len() || steps.queries == 0) continue;
    list.steps({"tail-tile-in-backward", "tail-tile"}, steps, "the last queries are left out");
  }
}

void suppose_stores(const AttentionProblem& problem, GradientList& list) {
  if (problem.q.shape == problem.k.shape) {
    list.changed({"dq-dk-swapped"}, [](AttentionGradient& g) { std::swap(g.d_q, g.d_k); });
  }
  if (problem.k.shape == problem.v.shape) {
    list.changed({"dk-dv-swapped"}, [](AttentionGradient& g) { std::swap(g.d_k, g.d_v); });
  }
  if (problem.heads() == 1) return;
  list.changed(
      {"head-layout"},
      [](AttentionGradient& g) {
        for (Tensor<double>* tensor : {&g.d_q, &g.d_k, &g.d_v}) {
          const Shape shape = tensor->shape;
          *tensor = swap_layout(*tensor);
          tensor->shape = shape;
        }
      },
      "gradients stored by rows before heads");
}

// Positions move with the corner: causality, windows and distances all follow.
void suppose_other_corner(const AttentionProblem& problem, bool forward_too, GradientList& list) {
  if (problem.rules.causal_offset) return;
  AttentionProblem seen = problem;
  CausalAlignment& corner = seen.rules.causal_alignment;
  const bool top_left = corner == CausalAlignment::kTopLeft;
  corner = top_left ? CausalAlignment::kBottomRight : CausalAlignment::kTopLeft;
  Names names = {"causal-alignment"};
  if (!forward_too) names.insert(names.begin(), "causal-alignment-in-backward");
  const View own = view(seen, false);
  list.viewed(names, own, own, {}, "");
  const View stored = view(seen, true);
  list.viewed(names, stored, stored, {}, "weights from the forward's log-sum-exp");
}

bool same_inputs(const AttentionProblem& a, const AttentionProblem& b) {
  const auto same = [](const Tensor<double>& one, const Tensor<double>& other) {
    return one.shape == other.shape &&
           std::equal(
               one.values.begin(), one.values.end(), other.values.begin(),
               [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
  };
  return same(a.q, b.q) && same(a.k, b.k) && same(a.v, b.v);
}

}  // namespace

std::vector<GradientSupposition> gradient_suppositions(const AttentionProblem& problem,
                                                       const Tensor<double>& d_out,
                                                       const AttentionGradient& truth,
                                                       bool forward_too) {
  GradientList list(problem, d_out, truth);
  suppose_groups(problem, list);
  suppose_scales_of_gradients(problem, list);
  suppose_softmax_steps(problem, list);
  suppose_products(problem, list);
  suppose_stores(problem, list);
  suppose_other_corner(problem, forward_too, list);
  for (const Supposition& supposed : suppositions(problem)) {
    if (supposed.twist != Twist::kNone) continue;
    const AttentionProblem seen = supposed.as_seen(problem);
    if (!same_inputs(seen, problem)) continue;
    Names names = {supposed.name};
    if (!forward_too) names.insert(names.begin(), supposed.name + "-in-backward");
    const View own = view(seen, false);
    const View stored = view(seen, true);
    list.viewed(names, own, own, {}, "");
    if (forward_too) continue;
    list.viewed(names, stored, stored, {}, "weights from the forward's log-sum-exp");
    list.viewed(names, list.right(), stored, {}, "in dq and dk alone");
    names.insert(names.begin(), "dv-from-wrong-weights");
    list.viewed(names, stored, list.right(), {}, "in dv alone");
    list.viewed(names, own, list.right(), {}, "in dv alone");
  }
  return list.take();
}

}  // namespace attn
