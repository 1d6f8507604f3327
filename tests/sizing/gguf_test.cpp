#include "sizing/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/error.h"
#include "sizing/kv_bytes.h"

namespace attn {
namespace {

using testing::ElementsAre;

// A GGUF header written by hand: version 3, no tensors.
class GgufFile {
 public:
  explicit GgufFile(const std::string& arch) : arch_(arch) { text("general.architecture", arch); }

  GgufFile& text(const std::string& key, const std::string& value) {
    name(key);
    put<std::uint32_t>(8);
    string(value);
    return *this;
  }
  GgufFile& count(const std::string& tail, std::uint32_t value) {
    name(arch_ + "." + tail);
    put<std::uint32_t>(4);
    put(value);
    return *this;
  }
  GgufFile& list(const std::string& tail, const std::vector<std::int32_t>& values) {
    name(arch_ + "." + tail);
    put<std::uint32_t>(9);
    put<std::uint32_t>(5);
    put<std::uint64_t>(values.size());
    for (const auto value : values) put(value);
    return *this;
  }
  std::string bytes() const {
    std::string head = "GGUF";
    const std::uint32_t version = 3;
    const std::uint64_t tensors = 0;
    head.append(reinterpret_cast<const char*>(&version), 4);
    head.append(reinterpret_cast<const char*>(&tensors), 8);
    head.append(reinterpret_cast<const char*>(&entries_), 8);
    return head + body_;
  }

 private:
  template <class T>
  void put(T value) {
    body_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void string(const std::string& value) {
    put<std::uint64_t>(value.size());
    body_ += value;
  }
  void name(const std::string& key) {
    ++entries_;
    string(key);
  }

  std::string arch_;
  std::string body_;
  std::uint64_t entries_ = 0;
};

TEST(Gguf, APlainModel) {
  GgufFile file("llama");
  file.count("block_count", 32).count("embedding_length", 4096).count("attention.head_count", 32);
  file.count("attention.head_count_kv", 8).count("context_length", 131072);
  const CacheSpec spec = gguf_cache_spec(file.bytes(), "m.gguf");
  EXPECT_THAT(layer_summary(spec), ElementsAre("32 layers of 8 kv heads x 128"));
  EXPECT_EQ(spec.max_tokens, 131072);
}

TEST(Gguf, HeadsLayerByLayerWithAState) {
  GgufFile file("lfm2");
  file.count("block_count", 3).count("embedding_length", 2048).count("attention.head_count", 32);
  file.list("attention.head_count_kv", {0, 0, 8}).count("shortconv.l_cache", 3);
  const CacheSpec spec = gguf_cache_spec(file.bytes(), "m.gguf");
  EXPECT_THAT(layer_summary(spec),
              ElementsAre("2 layers of short convolution state", "1 layer of 8 kv heads x 64"));
  EXPECT_EQ(kv_bytes(spec, 1, 1, cache_type("f16", "")).state, 2 * 2048 * 2 * 4);
}

TEST(Gguf, WindowsByTheRuleOfTheArchitectureAndByThePattern) {
  GgufFile file("gemma3");
  file.count("block_count", 6).count("embedding_length", 1152).count("attention.head_count", 4);
  file.count("attention.head_count_kv", 1).count("attention.key_length", 256);
  file.count("attention.value_length", 256).count("attention.sliding_window", 512);
  EXPECT_THAT(
      layer_summary(gguf_cache_spec(file.bytes(), "m.gguf")),
      ElementsAre("5 layers of 1 kv head x 256, last 512 tokens", "1 layer of 1 kv head x 256"));
  file.list("attention.sliding_window_pattern", {0, 1, 0, 1, 0, 1});
  EXPECT_THAT(
      layer_summary(gguf_cache_spec(file.bytes(), "m.gguf")),
      ElementsAre("3 layers of 1 kv head x 256", "3 layers of 1 kv head x 256, last 512 tokens"));
}

TEST(Gguf, LatentRowsWithoutTheLayersThatPredictFurtherTokens) {
  GgufFile file("deepseek2");
  file.count("block_count", 62).count("nextn_predict_layers", 1).count("attention.head_count", 128);
  file.count("attention.head_count_kv", 1).count("attention.kv_lora_rank", 512);
  file.count("attention.key_length", 576).count("rope.dimension_count", 64);
  EXPECT_THAT(layer_summary(gguf_cache_spec(file.bytes(), "m.gguf")),
              ElementsAre("61 layers of one latent row of 576"));
}

TEST(Gguf, EncodersKeepNothingAndTheirDecodersAreRefused) {
  GgufFile bert("bert");
  bert.count("block_count", 12).count("embedding_length", 64).count("attention.head_count", 4);
  bert.count("attention.causal", 0);
  EXPECT_EQ(gguf_cache_spec(bert.bytes(), "f").caching_layers(), 0);
  GgufFile t5("t5");
  t5.count("block_count", 12).count("embedding_length", 64).count("attention.head_count", 4);
  EXPECT_THROW((void)gguf_cache_spec(t5.bytes(), "f"), DataError);
}

TEST(Gguf, GemmasOfBeforeTheKeyShareAsWell) {
  GgufFile file("gemma3n");
  file.count("block_count", 35).count("embedding_length", 2048).count("attention.head_count", 8);
  file.count("attention.head_count_kv", 2).count("attention.key_length", 256);
  EXPECT_EQ(gguf_cache_spec(file.bytes(), "f").caching_layers(), 20);
}

TEST(Gguf, DamagedOrHostileFilesAreRefused) {
  GgufFile file("llama");
  file.count("block_count", 2).count("embedding_length", 8).count("attention.head_count", 2);
  const std::string good = file.bytes();
  for (std::size_t size = 0; size < good.size(); size += 3) {
    EXPECT_THROW((void)gguf_cache_spec(good.substr(0, size), "m"), DataError) << size;
  }
  std::string endless = good;
  endless[16] = '\x7f';  // more entries than there are
  EXPECT_THROW((void)gguf_cache_spec(endless, "m"), DataError);
  std::string longest = good;
  std::memset(longest.data() + 24, 0xff, 8);  // the first key's length
  EXPECT_THROW((void)gguf_cache_spec(longest, "m"), DataError);
  GgufFile twice("llama");
  twice.count("block_count", 2).count("embedding_length", 64).count("attention.head_count", 4);
  EXPECT_EQ(gguf_cache_spec(twice.bytes(), "f").layer_count(), 2);
  twice.count("block_count", 3);
  EXPECT_THROW((void)gguf_cache_spec(twice.bytes(), "f"), DataError);
  GgufFile odd("llama");
  odd.count("block_count", 2).count("embedding_length", 64).count("attention.head_count", 4);
  odd.count("attention.head_count_kv", 3);
  EXPECT_THROW((void)gguf_cache_spec(odd.bytes(), "f"), DataError);
  GgufFile wonder("wonder");
  wonder.count("block_count", 2).count("embedding_length", 8).count("attention.head_count", 2);
  wonder.count("attention.sliding_window", 16);
  EXPECT_THROW((void)gguf_cache_spec(wonder.bytes(), "m"), DataError);
}

}  // namespace
}  // namespace attn
