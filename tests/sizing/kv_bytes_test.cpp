#include "sizing/kv_bytes.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace attn {
namespace {

CacheType type(const char* name) {
  return cache_type(name, "--cache-dtype");
}

constexpr Index kGiB = Index{1} << 30;

TEST(KvBytes, TheTextbookModelNeedsTwoGiBAt4096Tokens) {
  const CacheSpec mha = uniform_spec(32, 32, 128);
  EXPECT_EQ(kv_bytes(mha, 4096, 1, type("f16")).total, 2 * kGiB);
  EXPECT_EQ(kv_bytes(uniform_spec(32, 8, 128), 4096, 1, type("f16")).total, kGiB / 2);
  EXPECT_EQ(kv_bytes(uniform_spec(32, 1, 128), 4096, 1, type("f16")).total, 2 * kGiB / 32);
  EXPECT_EQ(kv_bytes(mha, 7168, 1, type("f16")).total, 3 * kGiB + kGiB / 2);
  EXPECT_EQ(kv_bytes(mha, 1, 1, type("f16")).total, 524288);  // 0.5 MiB a token
}

TEST(KvBytes, KeysAndValuesAreCountedApartAndTogether) {
  // 24 layers, 16 heads of 64, 2000 tokens: 2 * 24 * 16 * 64 * 2000 * 2
  const KvBytes bytes = kv_bytes(uniform_spec(24, 16, 64), 2000, 1, type("f16"));
  EXPECT_EQ(bytes.total, 196'608'000);
  EXPECT_EQ(bytes.keys, 98'304'000);
  EXPECT_EQ(bytes.values, 98'304'000);
}

TEST(KvBytes, GrowsInProportionToTokensBatchAndWidth) {
  const CacheSpec one = uniform_spec(3, 5, 7);
  const Index base = kv_bytes(one, 11, 1, type("f32")).total;
  EXPECT_EQ(base, 2 * 3 * 5 * 7 * 11 * 4);
  EXPECT_EQ(kv_bytes(one, 22, 1, type("f32")).total, 2 * base);
  EXPECT_EQ(kv_bytes(one, 11, 3, type("f32")).total, 3 * base);
  EXPECT_EQ(kv_bytes(one, 11, 1, type("f64")).total, 2 * base);
}

TEST(KvBytes, AWindowKeepsAtMostItself) {
  CacheSpec spec;
  spec.add(window_layer(2, 8, 8, 100));
  spec.add(full_layer(2, 8, 8));
  const auto entries = [&](Index tokens) {
    return kv_bytes(spec, tokens, 1, type("int8")).total / (2 * 2 * 8);
  };
  EXPECT_EQ(entries(50), 50 + 50);
  EXPECT_EQ(entries(100), 100 + 100);
  EXPECT_EQ(entries(1000), 100 + 1000);
}

TEST(KvBytes, ALatentRowHasNoFactorTwo) {
  CacheSpec spec;
  spec.add({.kind = "latent", .rows = {{.form = CacheRows::Form::kLatent, .key_dim = 576}}}, 27);
  EXPECT_EQ(kv_bytes(spec, 10, 1, type("bf16")).total, 27 * 576 * 10 * 2);
}

TEST(KvBytes, BlocksCarryTheirScales) {
  // q8_0: 34 bytes for 32 values; q4_0: 18
  EXPECT_EQ(kv_bytes(uniform_spec(1, 1, 64), 1, 1, type("q8_0")).total, 2 * 2 * 34);
  EXPECT_EQ(kv_bytes(uniform_spec(1, 1, 64), 1, 1, type("q4_0")).total, 2 * 2 * 18);
  EXPECT_THROW((void)kv_bytes(uniform_spec(1, 1, 80), 1, 1, type("q8_0")), UsageError);
}

TEST(KvBytes, WhatLeaves63BitsIsRefusedAndNeverWrapped) {
  EXPECT_THROW(
      (void)kv_bytes(uniform_spec(1'000'000, 100'000, 10'000), 10'000'000'000, 1, type("f16")),
      UsageError);
  // The largest that fits, to the byte: keys and values of 2^61 bytes each.
  const CacheSpec one = uniform_spec(1, 1, 1);
  EXPECT_EQ(kv_bytes(one, Index{1} << 61, 1, type("int8")).total, Index{1} << 62);
  EXPECT_THROW((void)kv_bytes(one, Index{1} << 62, 1, type("int8")), UsageError);
  EXPECT_THROW((void)kv_bytes(one, 0, 1, type("int8")), UsageError);
  EXPECT_THROW((void)kv_bytes(one, 1, -1, type("int8")), UsageError);
}

TEST(CacheTypes, HaveTheNamesThatPeopleUse) {
  for (const char* name : {"f16", "fp16", "float16", "half", "F16"}) {
    EXPECT_EQ(type(name).name, "f16") << name;
  }
  EXPECT_EQ(type("bfloat16").name, "bf16");
  EXPECT_EQ(type("fp32").name, "f32");
  EXPECT_EQ(type("fp8_e4m3").name, "fp8");
  EXPECT_EQ(type("i8").name, "int8");
  EXPECT_EQ(type("Q8-0").name, "q8_0");
}

TEST(CacheTypes, AnUnknownOneIsNamedWithItsNeighbour) {
  try {
    (void)type("q8_1");
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "--cache-dtype: unknown cache type 'q8_1'");
    ASSERT_FALSE(error.hints().empty());
    EXPECT_EQ(error.hints().front(), "did you mean 'q8_0'?");
  }
  EXPECT_THROW((void)type(""), UsageError);
  EXPECT_THROW((void)type("i64"), UsageError);
}

}  // namespace
}  // namespace attn
