#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "check/case_file.h"
#include "check/check_attention.h"
#include "io/hdf5_reader.h"
#include "support/truth.h"

namespace attn {
namespace {

namespace fs = std::filesystem;

AttentionCase read_file(const fs::path& file) {
  const Hdf5Reader reader = Hdf5Reader::open(file.string());
  return read_case(reader, read_case_attributes(reader), {});
}

// The reference against an independent one, both in float64: sums of up to some hundred terms.
void expect_truth(const AttentionCase& recorded, const fs::path& file) {
  const Hdf5Reader reader = Hdf5Reader::open(file.string());
  const AttentionAnswer answer = reference_attention(recorded.problem, true, 2);
  const auto near = [&](const char* name, const Tensor<double>& given, Tensor<double> want) {
    if (given.shape != want.shape) want = swap_layout(want);
    ASSERT_EQ(given.shape, want.shape) << file << ": " << name;
    double size = 0;
    for (double value : want.values) {
      if (std::isfinite(value)) size = std::max(size, std::abs(value));
    }
    EXPECT_LE(difference(given, want).max_error, 1e-12 * size) << file << ": " << name;
  };
  near("out", answer.out, reader.read<double>("/out"));
  near("weights", answer.weights, reader.read<double>("/weights"));
  near("lse", answer.lse, reader.read<double>("/lse"));
}

// The first name is the manifest's, or one that it accepts as well.
void expect_diagnosis(const nlohmann::json& entry, const std::vector<std::string>& names) {
  std::vector<std::string> wanted = entry.at("also_acceptable");
  wanted.insert(wanted.begin(), entry.at("diagnosis").get<std::string>());
  EXPECT_THAT(names, ::testing::Contains(wanted.front())) << entry.at("name");
  ASSERT_FALSE(names.empty()) << entry.at("name");
  EXPECT_THAT(wanted, ::testing::Contains(names.front())) << entry.at("name");
}

nlohmann::json manifest_of(const fs::path& folder) {
  std::ifstream file(folder / "manifest.json");
  return nlohmann::json::parse(file);
}

TEST(AttentionCases, GetTheirVerdicts) {
  attn::testing::TruthCount count;
  for (const fs::path& folder : testing::case_places("attention")) {
    const nlohmann::json manifest = manifest_of(folder);
    for (const auto& entry : manifest.at("cases")) {
      const std::string name = entry.at("name");
      const AttentionCase recorded = read_file(folder / entry.at("file").get<std::string>());
      const AttentionReport report = check_attention(recorded, {.maps = true, .threads = 2});
      const bool passes = entry.at("expected") == "pass";
      EXPECT_EQ(report.verdict.outcome(), passes ? Outcome::kPass : Outcome::kFail) << name;
      for (const Check& check : report.verdict.checks) {
        if (!passes) continue;
        EXPECT_NE(check.outcome, Outcome::kFail) << name << ": " << check.name << " is off by "
                                                 << check.max_error << ", allowed " << check.limit;
      }
      EXPECT_EQ(report.kernel.outcome(), Outcome::kPass) << name << ": the kernel";
      if (!passes) expect_diagnosis(entry, report.verdict.diagnosis);
      const fs::path truth = folder / entry.value("truth", std::string("none"));
      if (fs::exists(truth)) expect_truth(recorded, truth);
      count.hold();
    }
  }
}

}  // namespace
}  // namespace attn
