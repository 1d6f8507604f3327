#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "support/process.h"

namespace attn {
namespace {

// The report that programs read, parsed by a parser of JSON and nothing more lenient.
nlohmann::json report_of(const std::string& options) {
  const testing::RunResult result = testing::run_shell("kvcache-bench --json " + options);
  EXPECT_EQ(result.status, 0) << result.err;
  return nlohmann::json::parse(result.out);
}

TEST(KvcacheBenchJson, TimesAreWholeAndConsistent) {
  const nlohmann::json report =
      report_of("--dim 16 --heads 4 --kv-heads 4,1 --tokens 1,9 --repeats 3 --warmup 0 --verbose");
  EXPECT_TRUE(report.at("counts_agree"));
  EXPECT_TRUE(report.at("outputs_agree"));
  EXPECT_LE(report.at("max_difference"), report.at("max_difference_bound"));
  ASSERT_EQ(report.at("results").size(), 2U * 2U * 3U);
  const std::size_t keys = report["results"][0].size();
  for (const nlohmann::json& row : report["results"]) {
    EXPECT_EQ(row.size(), keys) << "every row has the same keys";
    EXPECT_EQ(row.at("samples_ns").size(), 3U);
    EXPECT_EQ(row.at("cpu_samples_ns").size(), 3U);
    const std::int64_t n = row.at("new_tokens");
    const std::int64_t expected = row.at("cache") == "none" ? n * (n + 1) / 2 : n;
    EXPECT_EQ(row.at("key_rows"), expected) << row;
    EXPECT_LE(row.at("min_ns"), row.at("median_ns"));
    const bool reads = row.at("phase") == "decode" && row.at("cache") != "none";
    for (const char* key : {"kv_bytes_read", "weight_bytes_read", "bytes_read_per_step",
                            "read_bytes_per_second", "share_of_reference"}) {
      EXPECT_EQ(row.at(key).is_null(), !reads) << key << row;
    }
    EXPECT_GT(row.at("share_of_sgemm_peak"), 0);
    EXPECT_TRUE(row.at("storage_error").is_null()) << "numbers are stored as computed";
    EXPECT_EQ(row.at("step_median_ns").size(),
              row.at("phase") == "decode" ? static_cast<std::size_t>(n) : 0U);
  }
  EXPECT_EQ(report.at("comparisons").size(), 4U);
  for (const char* key : {"memory_bytes_per_second", "sgemm_flops_per_second"})
    EXPECT_GT(report.at("context").at(key), 0) << key;
}

TEST(KvcacheBenchJson, CountsAloneSayNothingOfTheMachine) {
  const nlohmann::json report = report_of("--dim 8 --heads 2 --tokens 5 --counts-only");
  for (const char* key : {"cpu", "cores", "threads", "load_average", "blas", "build_type"}) {
    EXPECT_FALSE(report.at("context").contains(key)) << key;
  }
  for (const auto& [key, value] : report.at("results").at(0).items()) {
    EXPECT_EQ(key.find("_ns"), std::string::npos);
    EXPECT_EQ(key.find("second"), std::string::npos);
  }
}

TEST(KvcacheBenchJson, EveryLineIsARecordOfItsOwn) {
  const testing::RunResult result = testing::run_shell(
      "kvcache-bench --format jsonl --dim 64 --heads 2 --tokens 3 --k-dtype q8_0 --v-dtype f16 "
      "--repeats 2 --warmup 0 --verbose");
  ASSERT_EQ(result.status, 0) << result.err;
  std::istringstream lines(result.out);
  std::string line;
  int rows = 0;
  while (std::getline(lines, line)) {
    const nlohmann::json row = nlohmann::json::parse(line);
    EXPECT_EQ(row.at("context").at("repeats"), 2);
    EXPECT_EQ(row.at("samples_ns").size(), 2U);
    EXPECT_EQ(row.at("storage_error").is_null(), row.at("cache") == "none") << line;
    ++rows;
  }
  EXPECT_EQ(rows, 3);
}

TEST(KvcacheBenchJson, OneWayAloneIsNotComparedAndSaysNull) {
  const nlohmann::json report =
      report_of("--dim 8 --heads 2 --tokens 5 --cache none --repeats 1 --warmup 0");
  EXPECT_TRUE(report.at("outputs_agree").is_null());
  EXPECT_TRUE(report.at("results").at(0).at("max_difference").is_null());
  EXPECT_TRUE(report.at("comparisons").empty());
}

}  // namespace
}  // namespace attn
