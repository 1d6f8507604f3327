// Published configurations with their exact sizes: all right to the byte, states too where the case
// gives them.

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

TEST(KvConfigCases, AreRightToTheByte) {
  testing::TruthCount count;
  for (const auto& place : testing::case_places("kv_configs.jsonl")) {
    std::ifstream file(place);
    for (std::string line; std::getline(file, line);) {
      if (line.empty()) continue;
      const auto wanted = nlohmann::json::parse(line);
      const std::string name = wanted["name"];
      try {
        const CacheSpec spec = hf_cache_spec(wanted["config"].dump(), name);
        CacheQuestion question;
        question.lengths = {wanted["tokens"], wanted.value("encoder_tokens", Index{0}),
                            wanted["batch"]};
        question.key_type = cache_type(std::string(wanted["dtype"]), "dtype");
        question.value_type = question.key_type;
        const KvBytes bytes = kv_bytes(spec, question);
        EXPECT_EQ(bytes.total, wanted["expected_bytes"].get<Index>()) << name;
        EXPECT_EQ(bytes.total, bytes.keys + bytes.values) << name;
        if (wanted.contains("state_bytes")) {
          EXPECT_EQ(bytes.state, wanted["state_bytes"].get<Index>()) << name;
        }
        count.hold();
      } catch (const Error& error) {
        ADD_FAILURE() << name << " is refused: " << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace attn
