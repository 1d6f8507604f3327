#include "check/layer/layer_case.h"

#include <fmt/format.h>

#include <cmath>

#include "core/error.h"
#include "core/text.h"

namespace attn {

namespace {

void require(bool condition, const std::string& what) {
  if (!condition) throw DataError(what);
}

void validate_projection(const char* name, const Projection& projection, Index in) {
  const Tensor<double>& weight = projection.weight;
  require(weight.rank() == 2 && weight.size() > 0,
          fmt::format("{}.weight: want 2 axes (out, in), got shape {}", name,
                      shape_text(weight.shape)));
  require(projection.in() == in,
          fmt::format("{}.weight: want (out, in) with in = {}, got {}{}", name, in,
                      shape_text(weight.shape),
                      projection.out() == in ? " (--weights-transposed reads (in, out))" : ""));
  require(projection.bias.empty() || static_cast<Index>(projection.bias.size()) == projection.out(),
          fmt::format("{}.bias: want {} numbers, got {}", name, projection.out(),
                      projection.bias.size()));
}

void validate_rope(const LayerProblem& problem) {
  if (!problem.rope) return;
  require(problem.rope->rotary_dim() >= 2 && problem.rope->rotary_dim() <= problem.head_dim(),
          fmt::format("rotary_dim: want an even number up to head_dim {}, got {}",
                      problem.head_dim(), problem.rope->rotary_dim()));
}

}  // namespace

std::vector<double> rope_inverse_frequencies(double base, Index rotary_dim) {
  std::vector<double> frequencies;
  for (Index i = 0; i < rotary_dim / 2; ++i) {
    frequencies.push_back(
        std::pow(base, -2 * static_cast<double>(i) / static_cast<double>(rotary_dim)));
  }
  return frequencies;
}

const char* layer_step_name(LayerStep step) {
  constexpr std::array<const char*, kLayerSteps> kNames = {"q",       "k",     "v",     "scores",
                                                           "weights", "heads", "output"};
  return kNames[static_cast<std::size_t>(step)];
}

Shape step_shape(const LayerProblem& problem, LayerStep step) {
  const Index batch = problem.batch();
  switch (step) {
    case LayerStep::kQ:
      return {batch, problem.heads, problem.q_len(), problem.head_dim()};
    case LayerStep::kK:
      return {batch, problem.kv_heads, problem.kv_len(), problem.head_dim()};
    case LayerStep::kV:
      return {batch, problem.kv_heads, problem.kv_len(), problem.value_dim()};
    case LayerStep::kScores:
    case LayerStep::kWeights:
      return {batch, problem.heads, problem.q_len(), problem.kv_len()};
    case LayerStep::kHeads:
      return {batch, problem.q_len(), problem.heads * problem.value_dim()};
    case LayerStep::kOutput:
      break;
  }
  const Index width =
      problem.out_proj ? problem.out_proj->out() : problem.heads * problem.value_dim();
  return {batch, problem.q_len(), width};
}

void validate(const LayerCase& layer) {
  const LayerProblem& problem = layer.problem;
  const auto rows_of = [](const char* name, const Tensor<double>& tensor) {
    require(tensor.rank() == 3 && tensor.size() > 0,
            fmt::format("{}: want 3 axes (batch, rows, features), got shape {}", name,
                        shape_text(tensor.shape)));
  };
  rows_of("x", problem.x);
  if (problem.context) {
    rows_of("context", *problem.context);
    require(problem.context->dim(0) == problem.batch(),
            fmt::format("context: want as many sequences as x, {}, got {}", problem.batch(),
                        problem.context->dim(0)));
  }
  require(problem.heads >= 1 && problem.kv_heads >= 1 && problem.heads % problem.kv_heads == 0,
          fmt::format("kv_heads must divide heads: {} does not divide {}", problem.kv_heads,
                      problem.heads));
  validate_projection("q_proj", problem.q_proj, problem.x.dim(2));
  validate_projection("k_proj", problem.k_proj, problem.source().dim(2));
  validate_projection("v_proj", problem.v_proj, problem.source().dim(2));
  require(problem.q_proj.out() % problem.heads == 0,
          fmt::format("q_proj.weight: heads must divide its rows: {} does not divide {}",
                      problem.heads, problem.q_proj.out()));
  require(problem.k_proj.out() == problem.kv_heads * problem.head_dim(),
          fmt::format("k_proj.weight: want kv_heads * head_dim = {} * {} rows, got {}",
                      problem.kv_heads, problem.head_dim(), problem.k_proj.out()));
  require(problem.v_proj.out() % problem.kv_heads == 0,
          fmt::format("v_proj.weight: kv_heads must divide its rows: {} does not divide {}",
                      problem.kv_heads, problem.v_proj.out()));
  if (problem.out_proj) {
    validate_projection("out_proj", *problem.out_proj, problem.heads * problem.value_dim());
  }
  validate_rope(problem);
  for (LayerStep step : kAllLayerSteps) {
    if (!layer.recorded.has(step)) continue;
    const Shape want = step_shape(problem, step);
    require(layer.recorded[step].shape == want,
            fmt::format("{}: want {}, got {}", layer_step_name(step), shape_text(want),
                        shape_text(layer.recorded[step].shape)));
  }
}

}  // namespace attn
