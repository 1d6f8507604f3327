#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/configurations.h"

// Dropout through whole models: what it depends on, and where it acts.

namespace attn {
namespace {

constexpr Index kBatch = 5;
constexpr Index kLength = 6;
constexpr Index kSourceLength = 4;

std::vector<ModelConfig> every_arrangement() {
  ModelConfig decoder;
  ModelConfig encoder;
  encoder.arch = Arch::kEncoder;
  encoder.norm = NormPlacement::kPost;
  ModelConfig both;
  both.arch = Arch::kEncoderDecoder;
  both.source_vocab_size = 10;
  both.encoder_depth = 2;
  both.kv_heads = 2;
  return {decoder, encoder, both};
}

// Logits of sequences first .. first + count - 1 of one batch, whose numbers within the update
// begin at `numbered`.
template <class T>
std::vector<T> logits_of(const Transformer<T>& model, Index first, Index count, Index numbered,
                         double rate, std::int64_t step = 4, bool dropout = true) {
  const std::vector<Index> ids = testing::some_ids(kBatch * kLength, 10, 1);
  const std::vector<Index> source = testing::some_ids(kBatch * kSourceLength, 10, 2);
  const auto part = [&](const std::vector<Index>& all, Index length) {
    return std::span<const Index>(all).subspan(static_cast<std::size_t>(first * length),
                                               static_cast<std::size_t>(count * length));
  };
  TokenInput input{part(ids, kLength), {count, kLength, nullptr}, {}, {}};
  if (model.config().arch == Arch::kEncoderDecoder) {
    input.source = part(source, kSourceLength);
    input.source_rows = {count, kSourceLength, nullptr};
  }
  const DropoutStream stream{rate, 9, step, numbered};
  Workspace work(2);
  Pass<T> pass = model.pass(work);
  if (dropout) pass.dropout = &stream;
  const Matrix<T> logits = model.forward(pass, input, nullptr, nullptr);
  return std::vector<T>(logits.data(), logits.data() + logits.size());
}

// A sequence meets the same masks alone as in the middle of a batch: gradients do not depend on how
// an update is cut. Products of other heights are rounded otherwise, and by no more than this.
TEST(Dropout, HidesBySequenceWhateverTheChunks) {
  for (const ModelConfig& config : every_arrangement()) {
    SCOPED_TRACE(enum_name(config.arch));
    Transformer<double> model(config);
    testing::scramble(model.params(), 3);
    const std::vector<double> whole = logits_of(model, 0, kBatch, 7, 0.4);
    const std::size_t each = whole.size() / kBatch;
    for (const Index cut : {1, 2, 3}) {
      for (Index first = 0; first < kBatch; first += cut) {
        const Index count = std::min(cut, kBatch - first);
        const std::vector<double> part = logits_of(model, first, count, 7 + first, 0.4);
        ASSERT_EQ(part.size(), each * static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < part.size(); ++i) {
          const double wanted = whole[static_cast<std::size_t>(first) * each + i];
          ASSERT_NEAR(part[i], wanted, 1e-11) << "sequence " << first << " of " << cut;
        }
      }
    }
  }
}

TEST(Dropout, IsAnotherInEverySequenceAndUpdateAndNoneWithoutAStream) {
  for (const ModelConfig& config : every_arrangement()) {
    SCOPED_TRACE(enum_name(config.arch));
    Transformer<float> model(config);
    testing::scramble(model.params(), 3);
    const std::vector<float> plain = logits_of(model, 0, 1, 0, 0.4, 4, false);
    const std::vector<float> dropped = logits_of(model, 0, 1, 0, 0.4);
    EXPECT_EQ(logits_of(model, 0, 1, 0, 0.0), plain) << "rate 0 changes no bit";
    EXPECT_NE(dropped, plain);
    EXPECT_EQ(logits_of(model, 0, 1, 0, 0.4), dropped);
    EXPECT_NE(logits_of(model, 0, 1, 1, 0.4), dropped);
    EXPECT_NE(logits_of(model, 0, 1, 0, 0.4, 5), dropped);
  }
}

// What a block's output becomes in each place, seen through a probe: a model whose blocks add
// nothing passes the embedding on, so its zeros are those of the embedding's dropout.
TEST(Dropout, ActsOnTheEmbedding) {
  ModelConfig config;
  config.norm = NormPlacement::kPre;
  Transformer<float> model(config);
  const ParamInfo* tokens = model.params().find("tokens.weight");
  std::fill_n(model.params().values() + tokens->place.offset, tokens->place.size(), 3.0F);
  const std::vector<Index> ids = testing::some_ids(kLength, 10, 1);
  Workspace work;
  Probe<float> probe;
  probe.want_hidden = true;
  const DropoutStream stream{0.25, 1, 2, 6};
  Pass<float> pass = model.pass(work);
  pass.probe = &probe;
  pass.dropout = &stream;
  model.forward(pass, {ids, {1, kLength, nullptr}, {}, {}}, nullptr, nullptr);
  const Tensor<float>& seen = probe.hidden.at("blocks.1");
  const DropoutMask mask = dropout_mask(0.25, 1, 2, tokens->place.offset, 6);
  for (Index i = 0; i < kLength; ++i) {
    for (Index j = 0; j < config.dim; ++j) {
      const float value = seen.values[static_cast<std::size_t>(i * config.dim + j)];
      // 3 and a sinusoid of at most 1, over 0.75
      if (is_dropped(mask, 0, i, j)) {
        EXPECT_EQ(value, 0.0F) << i << ' ' << j;
      } else {
        EXPECT_GE(value, 2.6F) << i << ' ' << j;
        EXPECT_LE(value, 5.4F) << i << ' ' << j;
      }
    }
  }
}

// Three residual branches and the embedding, each with zeros of its own: a branch that gives a
// constant 1 (its last bias) adds 0 or 1 / (1 - rate).
TEST(Dropout, ActsOnEveryResidualBranch) {
  ModelConfig config;
  config.arch = Arch::kEncoderDecoder;
  config.source_vocab_size = 10;
  config.depth = config.encoder_depth = 1;
  for (const std::string branch : {"attn.out_proj", "cross_attn.out_proj", "mlp.fc2"}) {
    SCOPED_TRACE(branch);
    Transformer<float> model(config);
    const ParamInfo* bias = model.params().find("decoder.blocks.0." + branch + ".bias");
    ASSERT_NE(bias, nullptr);
    std::fill_n(model.params().values() + bias->place.offset, bias->place.size(), 1.0F);
    const std::vector<Index> ids = testing::some_ids(kLength, 10, 1);
    Workspace work;
    const DropoutStream stream{0.5, 1, 2, 6};
    const auto outputs = [&](bool dropout) {
      Probe<float> probe;
      probe.want_hidden = true;
      Pass<float> pass = model.pass(work);
      pass.probe = &probe;
      if (dropout) pass.dropout = &stream;
      model.forward(pass, {ids, {1, kLength, nullptr}, ids, {1, kLength, nullptr}}, nullptr,
                    nullptr);
      Tensor<float> added = probe.hidden.at("decoder.blocks.0");
      const Tensor<float>& before = probe.hidden.at("decoder.embedding");
      for (std::size_t i = 0; i < added.values.size(); ++i) added.values[i] -= before.values[i];
      return added.values;
    };
    for (const float added : outputs(false)) ASSERT_NEAR(added, 1, 1e-6);
    double zeros = 0;
    const std::vector<float> added = outputs(true);
    for (const float value : added) {
      ASSERT_TRUE(std::abs(value) < 1e-6 || std::abs(value - 2) < 1e-6) << value;
      zeros += std::abs(value) < 1e-6 ? 1 : 0;
    }
    const auto count = static_cast<double>(added.size());
    EXPECT_NEAR(zeros / count, 0.5, 5 * 0.5 / std::sqrt(count)) << "five deviations";
  }
}

TEST(Dropout, DoesNotGoWithACache) {
  Transformer<float> model{ModelConfig()};
  KvCache<float> cache = model.make_cache(1, 8);
  const std::vector<Index> ids = {1, 2};
  const DropoutStream stream{0.5, 1, 2, 0};
  Workspace work;
  Pass<float> pass = model.pass(work);
  pass.dropout = &stream;
  EXPECT_THROW(model.forward(pass, {ids, {1, 2, nullptr}, {}, {}}, &cache, nullptr), ShapeError);
}

}  // namespace
}  // namespace attn
