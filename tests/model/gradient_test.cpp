#include "support/gradient_check.h"

#include <numeric>

#include "model/configurations.h"
#include "ops/cross_entropy.h"

// Backward against central differences, in double: every parameter of every configuration, and
// the inputs of every configuration's block.

namespace attn {
namespace {

using testing::configurations;
using testing::expect_gradient;

constexpr Index kBatch = 2;
constexpr Index kLength = 4;
constexpr Index kSourceLength = 3;

// A model with a batch; the last target of each sequence, and one more, are not counted.
struct Problem {
  Transformer<double> model;
  std::vector<Index> ids, targets, source;
  std::vector<std::uint8_t> source_mask = {1, 1, 1, 1, 1, 0};
  Workspace work;
  DropoutStream stream;
  const DropoutStream* dropout = nullptr;

  explicit Problem(const ModelConfig& config)
      : model(config),
        ids(testing::some_ids(kBatch * kLength, config.vocab_size, 1)),
        targets(testing::some_ids(kBatch * kLength, config.vocab_size, 2)) {
    testing::scramble(model.params(), 3);
    targets[3] = targets[7] = targets[5] = kIgnoreIndex;
    if (config.arch == Arch::kEncoderDecoder) {
      source = testing::some_ids(kBatch * kSourceLength, config.source_vocab_size, 4);
    }
  }
  TokenInput input() const {
    TokenInput made{ids, {kBatch, kLength, nullptr}, source, {}};
    if (!source.empty()) made.source_rows = {kBatch, kSourceLength, source_mask.data()};
    return made;
  }
  // The same numbers are hidden in every pass, so the loss stays a smooth function.
  void drop_out(double rate) {
    stream = {rate, 8, 5, 3};
    dropout = &stream;
  }
  Matrix<double> logits(TransformerTape<double>* tape) {
    Pass<double> pass = model.pass(work);
    pass.dropout = dropout;
    return model.forward(pass, input(), nullptr, tape);
  }
  double loss() {
    const Arena::Scope scope(work.arena());
    const Matrix<double> logits = this->logits(nullptr);
    const CrossEntropy entropy = cross_entropy<double>(logits, targets, 0, Matrix<double>());
    return entropy.loss_sum / static_cast<double>(entropy.counted);
  }
};

// Moves a ReLU's bias so that its inputs, over all rows, stay clear of the kink: into the middle of
// the widest gap between them, or beyond them all.
void clear_kink(double& bias, std::vector<double> inputs) {
  std::sort(inputs.begin(), inputs.end());
  double widest = 0;
  double middle = 0;
  for (std::size_t i = 0; i + 1 < inputs.size(); ++i) {
    if (inputs[i + 1] - inputs[i] > widest) {
      widest = inputs[i + 1] - inputs[i];
      middle = (inputs[i + 1] + inputs[i]) / 2;
    }
  }
  // A parameter moves by up to 3 steps of 2e-3, its effect on an input is a few times that.
  constexpr double kWideEnough = 0.3;
  bias -= widest >= kWideEnough ? middle : inputs.front() - kWideEnough;
}

// x: what fc1, whose units a ReLU follows, was given.
void clear_kinks(ParamStore<double>& params, const std::string& fc1, Matrix<const double> x) {
  const ParamInfo* weight = params.find(fc1 + ".weight");
  const ParamInfo* bias = params.find(fc1 + ".bias");
  ASSERT_TRUE(weight != nullptr && bias != nullptr) << fc1;
  const Matrix<double> w = weight->place.in(params.values());
  for (Index unit = 0; unit < w.rows(); ++unit) {
    double& moved = params.values()[bias->place.offset + unit];
    std::vector<double> inputs;
    for (Index row = 0; row < x.rows(); ++row) {
      inputs.push_back(std::inner_product(x.row(row), x.row(row) + x.cols(), w.row(unit), moved));
    }
    clear_kink(moved, inputs);
  }
}

void clear_kinks(Problem& p, const std::string& stack, std::size_t depth, bool encoder) {
  for (std::size_t block = 0; block < depth; ++block) {
    const Arena::Scope scope(p.work.arena());
    TransformerTape<double> tape;
    p.logits(&tape);
    clear_kinks(p.model.params(), fmt::format("{}blocks.{}.mlp.fc1", stack, block),
                (encoder ? tape.encoder : tape.decoder).blocks[block].mlp.x);
  }
}

void avoid_kinks(Problem& p) {
  const ModelConfig& c = p.model.config();
  if (c.activation != MlpActivation::kRelu) return;
  const bool both = c.arch == Arch::kEncoderDecoder;
  if (both) clear_kinks(p, "encoder.", static_cast<std::size_t>(c.encoder_depth), true);
  clear_kinks(p, both ? "decoder." : "", static_cast<std::size_t>(c.depth), false);
}

void expect_all_gradients(Problem& p) {
  avoid_kinks(p);
  ParamStore<double>& params = p.model.params();
  std::vector<double> gradients(static_cast<std::size_t>(params.size()), 0.0);
  {
    const Arena::Scope scope(p.work.arena());
    TransformerTape<double> tape;
    const Matrix<double> logits = p.logits(&tape);
    cross_entropy<double>(logits, p.targets, 1.0 / 5, logits);
    p.model.backward({params.values(), gradients.data(), p.work.arena(), p.dropout}, tape, logits);
  }
  for (const ParamInfo& info : params.list()) {
    const auto first = static_cast<std::size_t>(info.place.offset);
    const auto count = static_cast<std::size_t>(info.place.size());
    expect_gradient(info.name, std::span(params.values() + first, count),
                    std::span<const double>(gradients).subspan(first, count),
                    [&] { return p.loss(); });
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Gradient, EveryParameterOfEveryConfiguration) {
  for (const auto& configuration : configurations()) {
    SCOPED_TRACE(configuration.name);
    Problem p(configuration.model);
    expect_all_gradients(p);
    if (HasFatalFailure()) return;
  }
}

// Pre-norm and post-norm blocks of every arrangement.
TEST(Gradient, EveryParameterUnderDropout) {
  for (const auto& configuration : configurations()) {
    ModelConfig c = configuration.model;
    const bool wanted = c.position == Position::kLearned || c.position == Position::kAlibi;
    if (!wanted || c.kv_heads != 2) continue;
    for (const bool encoder : {false, true}) {
      if (encoder && c.arch == Arch::kEncoderDecoder) continue;
      if (encoder) c.arch = Arch::kEncoder;
      SCOPED_TRACE(testing::describe(c));
      Problem p(c);
      p.drop_out(0.3);
      expect_all_gradients(p);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Gradient, InputsOfEveryBlock) {
  for (const auto& configuration : configurations()) {
    SCOPED_TRACE(configuration.name);
    const ModelConfig& c = configuration.model;
    const bool cross = c.arch == Arch::kEncoderDecoder;
    ParamStore<double> params;
    const Block<double> block(params, "block", c.block(true, cross), nullptr);
    params.allocate();
    testing::scramble(params, 5);

    Workspace work;
    const Pass<double> pass{params.values(), work};
    const Sequences rows{kBatch, kLength, nullptr};
    const std::vector<std::uint8_t> mask = {1, 1, 0, 1, 1, 1};
    Tensor<double> x({kBatch * kLength, c.dim});
    Tensor<double> other({kBatch * kSourceLength, c.dim});
    Tensor<double> upstream({kBatch * kLength, c.dim});
    Rng rng(6, RandomPurpose::kExample);
    for (auto* tensor : {&x, &other, &upstream}) {
      for (double& value : tensor->values) value = rng.normal();
    }
    const Context<double> context{other.matrix(), {kBatch, kSourceLength, mask.data()}};
    const auto forward = [&](BlockTape<double>* tape) {
      return block.forward(pass, x.matrix(), rows, cross ? &context : nullptr, nullptr, nullptr,
                           tape);
    };
    if (c.activation == MlpActivation::kRelu) {
      const Arena::Scope scope(work.arena());
      BlockTape<double> tape;
      forward(&tape);
      clear_kinks(params, "block.mlp.fc1", tape.mlp.x);
    }
    const auto loss = [&] {
      const Arena::Scope scope(work.arena());
      const Matrix<double> y = forward(nullptr);
      double sum = 0;
      for (Index i = 0; i < y.size(); ++i) sum += y.data()[i] * upstream.data()[i];
      return sum;
    };

    std::vector<double> gradients(static_cast<std::size_t>(params.size()), 0.0);
    // Backward adds: what was there before must still be in the result.
    Tensor<double> d_x({kBatch * kLength, c.dim});
    Tensor<double> d_other({kBatch * kSourceLength, c.dim});
    std::fill(d_x.values.begin(), d_x.values.end(), 1.0);
    std::fill(d_other.values.begin(), d_other.values.end(), 1.0);
    {
      const Arena::Scope scope(work.arena());
      BlockTape<double> tape;
      forward(&tape);
      block.backward({params.values(), gradients.data(), work.arena()}, tape, upstream.matrix(),
                     d_x.matrix(), cross ? d_other.matrix() : Matrix<double>());
    }
    for (double& value : d_x.values) value -= 1.0;
    for (double& value : d_other.values) value -= 1.0;
    expect_gradient("x", x.values, d_x.values, loss);
    if (cross) expect_gradient("context", other.values, d_other.values, loss);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace attn
