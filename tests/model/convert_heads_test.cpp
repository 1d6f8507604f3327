#include "model/convert_heads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/configurations.h"

namespace attn {
namespace {

ModelConfig with_heads(Arch arch, bool bias) {
  ModelConfig c;
  c.arch = arch;
  c.vocab_size = 7;
  c.source_vocab_size = 6;
  c.dim = 16;
  c.heads = 8;
  c.kv_heads = 4;
  c.head_dim = 4;
  c.encoder_depth = 2;
  c.position = Position::kRope;
  c.bias = bias;
  return c.completed();
}

// Makes the key and value heads of each pair equal.
template <class T>
void repeat_heads(Transformer<T>& model) {
  const Index heads = model.config().kv_heads;
  for (const ParamInfo& info : model.params().list()) {
    if (info.name.find("k_proj") == std::string::npos &&
        info.name.find("v_proj") == std::string::npos) {
      continue;
    }
    const Index each = info.place.size() / heads;
    T* value = model.params().values() + info.place.offset;
    for (Index head = 0; head < heads; head += 2) {
      std::copy_n(value + head * each, each, value + (head + 1) * each);
    }
  }
}

std::vector<double> logits_of(const Transformer<double>& model) {
  const std::vector<Index> ids = testing::some_ids(6, 7, 1);
  const std::vector<Index> source = testing::some_ids(4, 6, 2);
  TokenInput input{ids, {2, 3, nullptr}, {}, {}};
  if (model.config().arch == Arch::kEncoderDecoder) {
    input.source = source;
    input.source_rows = {2, 2, nullptr};
  }
  Workspace work;
  const Matrix<double> logits = model.forward(model.pass(work), input, nullptr, nullptr);
  return std::vector<double>(logits.data(), logits.data() + logits.size());
}

TEST(PoolKvHeads, EqualHeadsOfAGroupChangeNothing) {
  for (const Arch arch : {Arch::kDecoder, Arch::kEncoder, Arch::kEncoderDecoder}) {
    for (const bool bias : {false, true}) {
      SCOPED_TRACE(enum_name(arch));
      Transformer<double> model(with_heads(arch, bias));
      testing::scramble(model.params(), 3);
      repeat_heads(model);
      const auto pooled = pool_kv_heads(model, 2);
      EXPECT_EQ(pooled->config().kv_heads, 2);
      const std::vector<double> wanted = logits_of(model);
      const std::vector<double> got = logits_of(*pooled);
      ASSERT_EQ(got.size(), wanted.size());
      // A mean of two equal numbers is exact; products of other shapes round otherwise.
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-12) << i;
    }
  }
}

TEST(PoolKvHeads, TakesTheMeanOfEachGroup) {
  Transformer<float> model(with_heads(Arch::kEncoderDecoder, true));
  testing::scramble(model.params(), 3);
  const auto pooled = pool_kv_heads(model, 1);
  Index projections = 0;
  for (const ParamInfo& info : pooled->params().list()) {
    const ParamInfo* old = model.params().find(info.name);
    ASSERT_NE(old, nullptr) << info.name;
    const float* from = model.params().values() + old->place.offset;
    const float* to = pooled->params().values() + info.place.offset;
    if (info.shape == old->shape) {
      EXPECT_TRUE(std::equal(to, to + info.place.size(), from)) << info.name;
      continue;
    }
    ++projections;
    ASSERT_EQ(info.shape[0], 4) << info.name << ": one head of 4";
    ASSERT_EQ(old->place.size(), 4 * info.place.size()) << info.name;
    for (Index i = 0; i < info.place.size(); ++i) {
      double mean = 0;
      for (Index head = 0; head < 4; ++head) {
        mean += static_cast<double>(from[head * info.place.size() + i]) / 4;
      }
      ASSERT_NEAR(static_cast<double>(to[i]), mean, 1e-7) << info.name;  // a float's rounding
    }
  }
  EXPECT_EQ(projections, (2 + 2 + 2) * 2 * 2) << "two blocks' three attentions, k and v, each with "
                                                 "weight and bias";
}

TEST(PoolKvHeads, RefusesWhatDoesNotDivide) {
  const Transformer<float> model(with_heads(Arch::kDecoder, true));
  for (const Index heads : {3, 8, 0, -1}) {
    try {
      pool_kv_heads(model, heads);
      ADD_FAILURE() << heads << " was accepted";
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("--kv-heads must divide")) << heads;
    }
  }
  EXPECT_EQ(pool_kv_heads(model, 4)->params().size(), model.params().size()) << "as many: a copy";
}

}  // namespace
}  // namespace attn
