#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "model/checkpoint.h"
#include "ops/cross_entropy.h"
#include "support/reference.h"
#include "support/truth.h"

// Forward and backward of whole models, of one stack or two, with padding or without, against
// PyTorch in float and in double. (What training makes of decoders is held in tests/train.)

namespace attn {
namespace {

using testing::Reference;

std::string other_kind(const Reference& file) {
  const std::string arch = file.text("arch");
  if (!parse_enum<Arch>(arch)) return "arch '" + arch + "'";
  for (const char* needed :
       {"/parameters", "/input/ids", "/input/targets", "/expected/logits", "/expected/gradients"}) {
    if (!file.has(needed)) return std::string("no ") + needed;
  }
  return "";
}

// What a file feeds a model with.
struct Inputs {
  std::vector<Index> ids, targets, source;
  std::vector<std::uint8_t> mask, source_mask;
  Shape shape, source_shape;

  explicit Inputs(const Reference& file)
      : ids(file.ids("/input/ids")),
        targets(file.ids("/input/targets")),
        shape(file.reader().info("/input/ids").shape) {
    const auto mask_of = [&](const char* path) {
      return file.has(path) ? file.reader().read<std::uint8_t>(path).values
                            : std::vector<std::uint8_t>();
    };
    mask = mask_of("/input/padding_mask");
    source_mask = mask_of("/input/source_mask");
    if (file.has("/input/source")) {
      source = file.ids("/input/source");
      source_shape = file.reader().info("/input/source").shape;
    }
  }
  TokenInput input() const {
    TokenInput made;
    made.ids = ids;
    made.rows = {shape[0], shape[1], mask.empty() ? nullptr : mask.data()};
    made.source = source;
    if (!source.empty()) {
      made.source_rows = {source_shape[0], source_shape[1],
                          source_mask.empty() ? nullptr : source_mask.data()};
    }
    return made;
  }
};

template <class T>
void expect_group(const Reference& file, const std::string& group,
                  const std::map<std::string, Tensor<T>, std::less<>>& found) {
  for (const std::string& name : file.reader().children(group)) {
    const auto at = found.find(name);
    ASSERT_NE(at, found.end()) << group << '/' << name << " was not computed";
    file.expect_near(fmt::format("{}/{}", group, name), at->second.values);
  }
}

template <class T>
void hold(const Reference& file) {
  const auto model = read_model<T>(file.reader());
  const Inputs inputs(file);
  Workspace work;
  Probe<T> probe;
  probe.want_weights = probe.want_hidden = true;
  Pass<T> pass = model->pass(work);
  pass.probe = &probe;
  TransformerTape<T> tape;
  const Matrix<T> logits = model->forward(pass, inputs.input(), nullptr, &tape);
  file.expect_near("/expected/logits", logits.data(), logits.size());
  expect_group(file, "/expected/attention", probe.weights);
  expect_group(file, "/expected/hidden", probe.hidden);

  const auto counted = std::count_if(inputs.targets.begin(), inputs.targets.end(),
                                     [](Index target) { return target != kIgnoreIndex; });
  const T share = T{1} / static_cast<T>(counted);
  const CrossEntropy entropy = cross_entropy<T>(logits, inputs.targets, share, logits);
  file.expect_near("/expected/loss", entropy.loss_sum / static_cast<double>(counted),
                   std::is_same_v<T, float>);
  std::vector<T> gradients(static_cast<std::size_t>(model->params().size()), T{0});
  model->backward({model->params().values(), gradients.data(), work.arena()}, tape, logits);
  for (const ParamInfo& info : model->params().list()) {
    file.expect_near("/expected/gradients/" + info.name, gradients.data() + info.place.offset,
                     info.place.size());
  }
}

template <class T>
void hold_every_file() {
  testing::TruthCount count;
  for (const auto& path : testing::reference_files()) {
    SCOPED_TRACE(path.string());
    const Reference file(path);
    const std::string why = other_kind(file);
    if (!why.empty()) {
      count.skip(path, why);
      continue;
    }
    count.hold();
    hold<T>(file);
  }
}

TEST(ReferenceStacks, InFloat) {
  hold_every_file<float>();
}

TEST(ReferenceStacks, InDouble) {
  hold_every_file<double>();
}

}  // namespace
}  // namespace attn
