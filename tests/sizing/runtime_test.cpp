// What engines reserve, held to what they printed.

#include "sizing/runtime.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "sizing/hf_config.h"
#include "sizing/known_models.h"
#include "sizing/kv_bytes.h"

namespace attn {
namespace {

constexpr Index kMiB = Index{1} << 20;

CacheQuestion asked(Runtime::Kind kind, Index tokens, Index sequences = 1) {
  CacheQuestion question;
  question.lengths.tokens = tokens;
  question.lengths.sequences = sequences;
  question.key_type = cache_type("f16", "");
  question.value_type = question.key_type;
  question.runtime.kind = kind;
  return question;
}

// qualcomm/GenieX#1346: Gemma-4 E4B, n_ctx 4096, n_swa 512, n_ubatch 1024.
TEST(Runtimes, LlamaCppPadsWindowsByAStep) {
  CacheSpec windows;
  windows.add(window_layer(2, 256, 256, 512), 20);
  CacheSpec full;
  full.add(full_layer(2, 512, 512), 4);
  CacheQuestion question = asked(Runtime::Kind::kLlamaCpp, 4096);
  question.runtime.ubatch = 1024;
  EXPECT_EQ(kv_bytes(windows, question).total, 60 * kMiB);
  EXPECT_EQ(kv_bytes(full, question).total, 64 * kMiB);
  question.runtime.swa_full = true;
  EXPECT_EQ(kv_bytes(windows, question).total, 160 * kMiB);
}

// lmstudio-ai/lmstudio-bug-tracker#1862: Qwen3.6-27B, 262144 cells; the state of four sequences.
TEST(Runtimes, LlamaCppKeepsStatesInF32) {
  const CacheSpec spec = known_model("qwen3.5-27b").spec;
  EXPECT_EQ(kv_bytes(spec, asked(Runtime::Kind::kLlamaCpp, 262144)).total, 16384 * kMiB);
  const Index state = kv_bytes(spec, asked(Runtime::Kind::kLlamaCpp, 256, 4)).state;
  EXPECT_EQ(state, 4 * 48 * (3 * 10240 + 786432) * 4);
  EXPECT_NEAR(static_cast<double>(state) / static_cast<double>(kMiB), 598.50, 0.005);
}

// ollama/ollama#16958: Gemma-4 26B-A4B in f16, GB as printed.
TEST(Runtimes, LlamaCppOnGemma4) {
  const CacheSpec spec = known_model("gemma-4-26b-a4b").spec;
  const auto gigabytes = [&](Index tokens) {
    return static_cast<double>(kv_bytes(spec, asked(Runtime::Kind::kLlamaCpp, tokens)).total) / 1e9;
  };
  EXPECT_NEAR(gigabytes(4096), 0.40, 0.005);
  EXPECT_NEAR(gigabytes(8192), 0.48, 0.005);
  EXPECT_NEAR(gigabytes(32768), 0.99, 0.005);
  EXPECT_NEAR(gigabytes(131072), 3.00, 0.005);
}

// gpustack/gguf-parser-go#31 and #32.
TEST(Runtimes, LlamaCppOnLfm2AndGptOss) {
  EXPECT_EQ(kv_bytes(known_model("lfm2-1.2b").spec, asked(Runtime::Kind::kLlamaCpp, 32768)).total,
            384 * kMiB);
  CacheQuestion question = asked(Runtime::Kind::kLlamaCpp, 131072);
  question.runtime.ubatch = 2048;
  EXPECT_EQ(kv_bytes(known_model("gpt-oss-20b").spec, question).total,
            3072 * kMiB + Index{12} * 2048 * 2304);
}

TEST(Runtimes, LlamaCppIgnoresTheWindowOfPhi3) {
  const CacheSpec spec = known_model("phi-3-mini-4k").spec;
  EXPECT_EQ(kv_bytes(spec, asked(Runtime::Kind::kLlamaCpp, 4096)).total,
            Index{2} * 32 * 3072 * 4096 * 2);
}

TEST(Runtimes, LlamaCppSharesOneBufferWhereUnified) {
  CacheSpec windows;
  windows.add(window_layer(1, 1, 1, 512));
  CacheQuestion question = asked(Runtime::Kind::kLlamaCpp, 4096, 4);
  EXPECT_EQ(kv_bytes(windows, question).keys, 2 * 4 * (512 + 512));
  question.runtime.unified = true;
  EXPECT_EQ(kv_bytes(windows, question).keys, 2 * (512 * 4 + 512));
}

// vllm-project/vllm-metal#345: 6,291,456 bytes for a block of 16 tokens.
TEST(Runtimes, VllmTakesPagesOf16) {
  const CacheSpec spec = known_model("phi-3.5-mini").spec;
  EXPECT_EQ(kv_bytes(spec, asked(Runtime::Kind::kVllm, 1)).total, 6'291'456);
  EXPECT_EQ(kv_bytes(spec, asked(Runtime::Kind::kVllm, 16)).total, 6'291'456);
  EXPECT_EQ(kv_bytes(spec, asked(Runtime::Kind::kVllm, 17)).total, 2 * 6'291'456);
}

// ceil(min(window - 1 + batched, length) / block) + 1 pages; without the hybrid manager all of
// them.
TEST(Runtimes, VllmGivesWindowsAStepAndAPage) {
  CacheSpec windows;
  windows.add(window_layer(1, 1, 1, 1024));
  CacheQuestion question = asked(Runtime::Kind::kVllm, 100'000);
  EXPECT_EQ(kv_bytes(windows, question).keys, 2 * 16 * (576 + 1));  // ceil(9215 / 16) is 576
  question.runtime.hybrid_manager = false;
  EXPECT_EQ(kv_bytes(windows, question).keys, 2 * 100'000);
}

// Rows of 8 bytes beside rows of 16: their page holds 32 tokens instead of 16.
TEST(Runtimes, VllmGivesSmallerRowsLargerBlocks) {
  CacheSpec spec;
  spec.add(full_layer(1, 4, 4));
  spec.add(full_layer(1, 2, 2));
  EXPECT_EQ(kv_bytes(spec, asked(Runtime::Kind::kVllm, 1)).total, 16 * 16 + 32 * 8);
  EXPECT_EQ(kv_bytes(spec, asked(Runtime::Kind::kVllm, 33)).total, 48 * 16 + 64 * 8);
}

TEST(Runtimes, VllmMakesAPageOfAttentionAtLeastAState) {
  CacheSpec spec;
  spec.add(full_layer(1, 64, 64));  // 256 bytes a token: 4,096 a page
  spec.add({.kind = "state", .state = {.kind = "state", .recurrent = 2048}});  // 8,192 bytes
  const KvBytes bytes = kv_bytes(spec, asked(Runtime::Kind::kVllm, 1));
  EXPECT_EQ(bytes.total, 8192);  // a page of 32 tokens
  EXPECT_EQ(bytes.state, 8192);
}

TEST(Runtimes, TransformersKeepsOneTokenLessOfAWindow) {
  CacheSpec windows;
  windows.add(window_layer(1, 1, 1, 100));
  EXPECT_EQ(kv_bytes(windows, asked(Runtime::Kind::kTransformers, 1000)).keys, 2 * 99);
  EXPECT_EQ(kv_bytes(windows, asked(Runtime::Kind::kTransformers, 50)).keys, 2 * 50);
  EXPECT_EQ(kv_bytes(windows, asked(Runtime::Kind::kStatic, 1000)).keys, 2 * 100);
}

TEST(Runtimes, SayWhyTheyDiffer) {
  Runtime runtime;
  EXPECT_TRUE(runtime_reasons(runtime, known_model("gemma-2-9b").spec).empty());
  runtime.kind = Runtime::Kind::kVllm;
  EXPECT_EQ(runtime_reasons(runtime, known_model("gemma-2-9b").spec).size(), 2U);
  runtime.kind = Runtime::Kind::kLlamaCpp;
  EXPECT_THROW(check_runtime(runtime, known_model("t5-small").spec), UsageError);
}

TEST(TensorParallel, HeadsAreSharedOutOrHeldByAll) {
  EXPECT_EQ(heads_per_rank(8, 1), 8);
  EXPECT_EQ(heads_per_rank(8, 4), 2);
  EXPECT_EQ(heads_per_rank(8, 16), 1);  // twice in total
  EXPECT_THROW((void)heads_per_rank(8, 3), UsageError);
  EXPECT_THROW((void)heads_per_rank(6, 4), UsageError);
  CacheQuestion question = asked(Runtime::Kind::kIdeal, 10);
  question.tensor_parallel = 16;
  const KvBytes grouped = kv_bytes(uniform_spec(1, 8, 4), question);
  EXPECT_EQ(grouped.total, 2 * 2 * 16 * 4 * 10);
  EXPECT_EQ(grouped.rank, 2 * 2 * 4 * 10);
  // Latent rows are whole on every rank.
  const KvBytes latent = kv_bytes(known_model("deepseek-v2-lite").spec, question);
  EXPECT_EQ(latent.rank, 27 * 576 * 10 * 2);
  EXPECT_EQ(latent.total, 16 * latent.rank);
}

}  // namespace
}  // namespace attn
