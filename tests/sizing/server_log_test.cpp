#include "sizing/server_log.h"

#include <gtest/gtest.h>

#include <string>

#include "sizing/known_models.h"

namespace attn {
namespace {

TypePair f16() {
  return {cache_type("f16", ""), cache_type("f16", "")};
}

std::vector<LogVerdict> compared(const CacheSpec& spec, const std::string& log) {
  return compared_with_log(spec, log_figures(log), f16(), 1);
}

// lmstudio-bug-tracker#1862 and qualcomm/GenieX#1346, as printed.
TEST(ServerLog, LlamaCpp) {
  const auto one = compared(known_model("qwen3.5-27b").spec,
                            "load: loading\n"
                            "llama_kv_cache: size = 16384.00 MiB (262144 cells,  16 layers,  4/1 "
                            "seqs), K (f16): 8192.00 MiB, V (f16): 8192.00 MiB\n");
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].figure.line, 2);
  EXPECT_EQ(one[0].figure.tokens, 262144);
  EXPECT_TRUE(one[0].agrees) << one[0].note;

  CacheSpec e4b;
  e4b.add(window_layer(2, 256, 256, 512), 20);
  e4b.add(full_layer(2, 512, 512), 4);
  const auto two = compared(
      e4b,
      "llama_kv_cache: size =   64.00 MiB (  4096 cells,   4 layers,  1/1 seqs), K (f16):   32.00 "
      "MiB, V (f16):   32.00 MiB\n"
      "llama_kv_cache: size =   60.00 MiB (  1536 cells,  20 layers,  1/1 seqs), K (f16):   30.00 "
      "MiB, V (f16):   30.00 MiB\n");
  ASSERT_EQ(two.size(), 2U);
  EXPECT_TRUE(two[0].agrees);
  EXPECT_TRUE(two[1].agrees);
}

TEST(ServerLog, VllmsTokensAndMemory) {
  // 20.12 GiB at 131,072 bytes a token are 164,823 tokens, in blocks of 16: 164,816.
  const std::string log =
      "INFO 01-01 [gpu_worker.py:276] Available KV cache memory: 20.12 GiB\n"
      "INFO 01-01 [kv_cache_utils.py:849] GPU KV cache size: 164,816 tokens\n"
      "INFO 01-01 [kv_cache_utils.py:853] Maximum concurrency for 8,192 tokens per request: "
      "20.12x\n";
  const auto verdicts = compared(known_model("llama-3.1-8b").spec, log);
  ASSERT_EQ(verdicts.size(), 3U);
  EXPECT_FALSE(verdicts[0].compared);
  EXPECT_TRUE(verdicts[1].agrees) << verdicts[1].ours;
  EXPECT_TRUE(verdicts[2].agrees) << verdicts[2].note;
  const auto other = compared(known_model("llama-2-7b").spec, log);
  EXPECT_TRUE(other[1].compared);
  EXPECT_FALSE(other[1].agrees);
  EXPECT_NE(other[1].note, "");
}

TEST(ServerLog, Sglang) {
  // 131,072 bytes a token: 100,000 tokens are 12.21 GiB, half of it keys.
  const auto verdicts = compared(
      known_model("llama-3.1-8b").spec,
      "[2026-01-01] KV Cache is allocated. #tokens: 100000, K size: 6.10 GB, V size: 6.10 GB\n");
  ASSERT_EQ(verdicts.size(), 1U);
  EXPECT_TRUE(verdicts[0].agrees) << verdicts[0].ours << " " << verdicts[0].figure.bytes;
}

TEST(ServerLog, OtherLinesSayNothing) {
  EXPECT_TRUE(log_figures("size = 3\nK (f16)\nGPU KV cache size: tokens\n" + std::string(9000, 'x'))
                  .empty());
}

}  // namespace
}  // namespace attn
