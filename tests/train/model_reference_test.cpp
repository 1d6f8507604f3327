#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "model/checkpoint.h"
#include "model/decoding.h"
#include "ops/vector.h"
#include "support/reference.h"
#include "support/truth.h"
#include "train/trainer.h"

// Whole decoders against PyTorch: logits, loss, attention weights, hidden states, every gradient,
// and the parameters after 1, 2 and 10 updates, in float and in double.

namespace attn {
namespace {

using testing::Reference;

// Why a file is not this test's; empty where it is.
std::string other_kind(const Reference& file) {
  const std::string arch = file.text("arch");
  if (arch != "decoder") return "arch '" + arch + "'";
  for (const char* needed : {"/parameters", "/input/ids", "/input/targets", "/expected/logits"}) {
    if (!file.has(needed)) return std::string("no ") + needed;
  }
  if (file.has("/input/padding_mask")) return "a padding mask";
  if (file.has("/input/steps")) {
    if (file.text("schedule", "/input/steps") != "constant") return "a learning-rate schedule";
    if (file.real("clip_norm", "/input/steps") != 0) return "gradient clipping";
  }
  return "";
}

Batch batch_of(const Reference& file, std::vector<Index> ids, std::vector<Index> targets) {
  const Shape shape = file.reader().info("/input/ids").shape;
  Batch batch;
  batch.batch = shape[0];
  batch.seq_len = shape[1];
  batch.ids = std::move(ids);
  batch.targets = std::move(targets);
  return batch;
}

// The batch of each update, as a data source, so that the Trainer itself is what is tested.
class StoredBatches : public DataSource {
 public:
  explicit StoredBatches(const Reference& file)
      : file_(file),
        vocab_size_(file.count("vocab_size")),
        first_(batch_of(file, file.ids("/input/ids"), file.ids("/input/targets"))),
        ids_(file.ids("/input/steps/ids")),
        targets_(file.ids("/input/steps/targets")) {}

  Index vocab_size() const override { return vocab_size_; }
  Index seq_len() const override { return first_.seq_len; }
  Index steps() const { return static_cast<Index>(ids_.size()) / (first_.batch * first_.seq_len); }
  Batch training_batch(Index step, Index) const override {
    const Index tokens = first_.batch * first_.seq_len;
    const auto cut = [&](const std::vector<Index>& all) {
      return std::vector<Index>(all.begin() + step * tokens, all.begin() + (step + 1) * tokens);
    };
    return batch_of(file_, cut(ids_), cut(targets_));
  }
  const Batch& evaluation_batch() const override { return first_; }

 private:
  const Reference& file_;
  Index vocab_size_;
  Batch first_;
  std::vector<Index> ids_, targets_;
};

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
void expect_parameters(const Reference& file, const std::string& group, const ParamStore<T>& params,
                       const T* values) {
  if (!file.has(group)) return;
  EXPECT_EQ(file.reader().children(group).size(), params.list().size()) << group;
  for (const ParamInfo& info : params.list()) {
    file.expect_near(group + "/" + info.name, values + info.place.offset, info.place.size());
  }
}

template <class T>
void expect_forward(const Reference& file, const Transformer<T>& model) {
  Workspace work;
  Probe<T> probe;
  probe.want_weights = probe.want_hidden = true;
  Pass<T> pass = model.pass(work);
  pass.probe = &probe;
  // trained_gpt stores the logits of its first sequences alone.
  const Shape shape = file.reader().info("/expected/logits").shape;
  std::vector<Index> ids = file.ids("/input/ids");
  ids.resize(static_cast<std::size_t>(shape[0] * shape[1]));
  TokenInput input;
  input.ids = ids;
  input.rows = {shape[0], shape[1], nullptr};
  const Matrix<T> logits = model.forward(pass, input, nullptr, nullptr);
  file.expect_near("/expected/logits", logits.data(), logits.size());
  expect_group(file, "/expected/attention", probe.weights);
  expect_group(file, "/expected/hidden", probe.hidden);
}

template <class T>
void expect_loss_and_gradients(const Reference& file, const Transformer<T>& model) {
  constexpr bool kFloat = std::is_same_v<T, float>;
  const Batch batch = batch_of(file, file.ids("/input/ids"), file.ids("/input/targets"));
  BatchGradient<T> gradient(model, 2);
  std::vector<T> found(static_cast<std::size_t>(model.params().size()));
  const double loss = gradient.compute(batch, found.data());
  file.expect_near("/expected/loss", loss, kFloat);
  file.expect_near("/expected/loss", gradient.evaluate(batch).loss, kFloat);
  expect_parameters(file, "/expected/gradients", model.params(), found.data());
}

template <class T>
void expect_updates(const Reference& file, Transformer<T>& model) {
  constexpr bool kFloat = std::is_same_v<T, float>;
  if (!file.has("/input/steps")) return;
  const StoredBatches data(file);
  TrainerSettings settings;
  settings.adamw.lr = file.real("lr", "/input/steps");
  settings.adamw.beta1 = file.real("beta1", "/input/steps");
  settings.adamw.beta2 = file.real("beta2", "/input/steps");
  settings.adamw.eps = file.real("eps", "/input/steps");
  settings.adamw.weight_decay = file.real("weight_decay", "/input/steps");
  settings.batch = data.evaluation_batch().batch;
  settings.threads = 2;
  Trainer<T> trainer(model, data, settings);
  std::vector<T> losses, norms, rates;
  for (Index step = 1; step <= data.steps(); ++step) {
    const StepReport report = trainer.step();
    ASSERT_TRUE(report.finite());
    losses.push_back(static_cast<T>(report.loss));
    norms.push_back(static_cast<T>(report.gradient_norm));
    rates.push_back(static_cast<T>(report.lr));
    const std::string after = "/expected/after_" + std::to_string(step);
    if (!file.has(after)) continue;
    file.expect_near(after + "/loss", trainer.evaluate().loss, kFloat);
    expect_parameters(file, after + "/parameters", model.params(), model.params().values());
  }
  file.expect_near("/expected/learning_rates", rates);
  file.expect_near("/expected/step_losses", losses);
  file.expect_near("/expected/gradient_norms", norms);
}

template <class T>
void expect_continuations(const Reference& file, const Transformer<T>& model) {
  if (!file.has("/expected/tokens")) return;
  const Tensor<Index> prompts = file.reader().read<Index>("/input/prompts");
  const Tensor<Index> tokens = file.reader().read<Index>("/expected/tokens");
  for (Index row = 0; row < prompts.dim(0); ++row) {
    const Index* prompt = prompts.matrix().row(row);
    const std::vector<Index> wanted(tokens.matrix().row(row),
                                    tokens.matrix().row(row) + tokens.dim(1));
    for (const bool use_cache : {true, false}) {
      GenerationSettings settings;
      settings.new_tokens = tokens.dim(1);
      settings.use_cache = use_cache;
      const std::span<const Index> start(prompt, static_cast<std::size_t>(prompts.dim(1)));
      EXPECT_EQ(generate<T>(model, start, settings).tokens, wanted)
          << "prompt " << prompt[0] << ' ' << prompt[1] << (use_cache ? " cached" : " uncached");
    }
  }
}

template <class T>
void expect_all(const Reference& file) {
  const auto model = read_model<T>(file.reader());
  expect_forward<T>(file, *model);
  expect_loss_and_gradients<T>(file, *model);
  expect_continuations<T>(file, *model);
  expect_updates<T>(file, *model);
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
    expect_all<T>(file);
  }
}

TEST(ReferenceDecoders, InFloat) {
  hold_every_file<float>();
}

TEST(ReferenceDecoders, InDouble) {
  hold_every_file<double>();
}

}  // namespace
}  // namespace attn
