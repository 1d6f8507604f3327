// Published configurations with their exact sizes. What is understood must be right to the byte;
// what is not must be refused, and is counted.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "core/error.h"
#include "sizing/hf_config.h"
#include "sizing/kv_bytes.h"
#include "support/truth.h"

namespace attn {
namespace {

TEST(KvConfigCases, AreRightToTheByteOrRefused) {
  testing::TruthCount count;
  for (const auto& place : testing::case_places("kv_configs.jsonl")) {
    std::ifstream file(place);
    for (std::string line; std::getline(file, line);) {
      if (line.empty()) continue;
      const auto wanted = nlohmann::json::parse(line);
      const std::string name = wanted["name"];
      try {
        const CacheSpec spec = hf_cache_spec(wanted["config"].dump(), name);
        const CacheType& type = cache_type(std::string(wanted["dtype"]), "dtype");
        const KvBytes bytes = kv_bytes(spec, wanted["tokens"], wanted["batch"], type);
        EXPECT_EQ(bytes.total, wanted["expected_bytes"].get<Index>()) << name;
        EXPECT_EQ(bytes.total, bytes.keys + bytes.values) << name;
        count.hold();
      } catch (const Error& error) {
        count.skip(place, error.what());
      }
    }
  }
}

}  // namespace
}  // namespace attn
