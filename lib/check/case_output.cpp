#include "check/case_output.h"

#include <cstdint>
#include <string>
#include <vector>

namespace attn {

namespace {

Tensor<float> as_float(const Tensor<double>& from) {
  Tensor<float> to(from.shape);
  for (std::size_t n = 0; n < from.values.size(); ++n) {
    to.values[n] = static_cast<float>(from.values[n]);
  }
  return to;
}

// Axes of (batch, heads, rows, keys) that a plotter should label.
void label_axes(Hdf5Writer& writer, const std::vector<std::string>& maps, Index rows, Index keys) {
  const auto numbers = [&writer](const char* name, Index count) {
    Tensor<std::int32_t> axis({count});
    for (Index n = 0; n < count; ++n) {
      axis.values[static_cast<std::size_t>(n)] = static_cast<std::int32_t>(n);
    }
    writer.dataset(name, axis);
  };
  numbers("/query", rows);
  numbers("/key", keys);
  for (const std::string& map : maps) {
    writer.scale(map, 2, "/query", "query");
    writer.scale(map, 3, "/key", "key");
  }
}

}  // namespace

void add_answers(Hdf5Writer& writer, const AttentionReport& report, bool maps,
                 TensorLayout layout) {
  const auto add = [&](const std::string& group, const AttentionAnswer& answer, auto convert) {
    writer.dataset(group + "/out", convert(from_bhsd(answer.out, layout)));
    writer.dataset(group + "/lse", convert(answer.lse));
    if (!maps) return;
    writer.dataset(group + "/weights", convert(answer.weights));
    writer.dataset(group + "/scores", convert(answer.scores));
  };
  add("", report.fast, as_float);
  add("/reference", report.truth, [](const Tensor<double>& tensor) { return tensor; });
  if (maps) {
    label_axes(writer, {"/weights", "/scores", "/reference/weights", "/reference/scores"},
               report.truth.weights.dim(2), report.truth.weights.dim(3));
  }
  if (layout != TensorLayout::kBhsd) writer.attribute("/", "layout", layout_name(layout));
  if (heads_are_joined(layout)) writer.attribute("/", "heads", report.truth.out.dim(1));
}

void add_example(Hdf5Writer& writer, const AttentionExample& example, const ExampleRun& run) {
  const AttentionProblem& problem = example.problem;
  writer.dataset("/x", as_float(example.x));
  writer.dataset("/q", as_float(problem.q));
  writer.dataset("/k", as_float(problem.k));
  writer.dataset("/v", as_float(problem.v));
  const auto add = [&writer](const AttentionCase& recorded, const std::string& suffix) {
    writer.dataset("/scores" + suffix, as_float(*recorded.scores));
    writer.dataset("/weights" + suffix, as_float(*recorded.weights));
    writer.dataset("/out" + suffix, as_float(*recorded.out));
    writer.dataset("/lse" + suffix, as_float(*recorded.lse));
  };
  add(run.open, "");
  add(run.causal, "_causal");
  label_axes(writer, {"/scores", "/weights", "/scores_causal", "/weights_causal"}, problem.q_len(),
             problem.kv_len());
}

}  // namespace attn
