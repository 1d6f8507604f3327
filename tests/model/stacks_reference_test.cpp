#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "model/checkpoint.h"
#include "ops/cross_entropy.h"
#include "support/model_inputs.h"
#include "support/truth.h"

// Forward and backward of whole models, of one stack or two, with padding or without, against
// PyTorch in float and in double: logits, attention weights, hidden states, loss, every gradient.
// (What training makes of them is held in tests/train.)

namespace attn {
namespace {

using testing::ModelInputs;
using testing::Reference;

template <class T>
void expect_group(const Reference& file, const std::string& group,
                  const std::map<std::string, Tensor<T>, std::less<>>& found) {
  if (!file.has(group)) return;
  for (const std::string& name : file.reader().children(group)) {
    const auto at = found.find(name);
    ASSERT_NE(at, found.end()) << group << '/' << name << " was not computed";
    file.expect_near(fmt::format("{}/{}", group, name), at->second.values);
  }
}

template <class T>
void expect_forward(const Reference& file, const Transformer<T>& model, const ModelInputs& inputs) {
  Workspace work;
  Probe<T> probe;
  probe.want_weights = probe.want_hidden = true;
  Pass<T> pass = model.pass(work);
  pass.probe = &probe;
  // trained_gpt stores the logits of its first sequences alone.
  const Index sequences = file.reader().info("/expected/logits").shape[0];
  const Matrix<T> logits = model.forward(pass, inputs.input(sequences), nullptr, nullptr);
  file.expect_near("/expected/logits", logits.data(), logits.size());
  expect_group(file, "/expected/attention", probe.weights);
  expect_group(file, "/expected/hidden", probe.hidden);
}

template <class T>
void expect_backward(const Reference& file, const Transformer<T>& model,
                     const ModelInputs& inputs) {
  Workspace work;
  TransformerTape<T> tape;
  const Matrix<T> logits = model.forward(model.pass(work), inputs.input(), nullptr, &tape);
  const auto counted = std::count_if(inputs.targets.begin(), inputs.targets.end(),
                                     [](Index target) { return target != kIgnoreIndex; });
  const T share = T{1} / static_cast<T>(counted);
  const CrossEntropy entropy = cross_entropy<T>(logits, inputs.targets, share, logits);
  file.expect_near("/expected/loss", entropy.loss_sum / static_cast<double>(counted),
                   std::is_same_v<T, float>);
  std::vector<T> gradients(static_cast<std::size_t>(model.params().size()), T{0});
  model.backward({model.params().values(), gradients.data(), work.arena()}, tape, logits);
  testing::expect_parameters(file, "/expected/gradients", model.params(), gradients.data());
}

template <class T>
void hold_every_file() {
  testing::hold_model_files([](const Reference& file) {
    const auto model = read_model<T>(file.reader());
    const ModelInputs inputs = testing::model_inputs(file).front();
    expect_forward<T>(file, *model, inputs);
    expect_backward<T>(file, *model, inputs);
  });
}

TEST(ReferenceStacks, InFloat) {
  hold_every_file<float>();
}

TEST(ReferenceStacks, InDouble) {
  hold_every_file<double>();
}

}  // namespace
}  // namespace attn
