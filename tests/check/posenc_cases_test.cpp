#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "check/check_posenc.h"
#include "io/hdf5_reader.h"
#include "support/truth.h"

namespace attn {
namespace {

namespace fs = std::filesystem;

template <class Task>
void for_each_case(const Task& task) {
  attn::testing::TruthCount count;
  for (const fs::path& folder : attn::testing::case_places("posenc")) {
    std::ifstream file(folder / "manifest.json");
    const nlohmann::json manifest = nlohmann::json::parse(file);
    for (const auto& entry : manifest.at("cases")) {
      task(entry, Hdf5Reader::open((folder / entry.at("file").get<std::string>()).string()));
      count.hold();
    }
  }
}

TEST(PosencCases, GetTheirVerdictAndTheNameOfTheirMistake) {
  for_each_case([](const nlohmann::json& entry, const Hdf5Reader& file) {
    const PosencReport report = check_posenc(read_posenc_case(file));
    const bool passes = entry.at("expected") == "pass";
    EXPECT_EQ(report.verdict.outcome(), passes ? Outcome::kPass : Outcome::kFail)
        << entry.at("name");
    if (passes) {
      EXPECT_THAT(report.verdict.diagnosis, ::testing::IsEmpty()) << entry.at("name");
      return;
    }
    std::vector<std::string> wanted = entry.at("also_acceptable");
    wanted.push_back(entry.at("diagnosis"));
    EXPECT_THAT(report.verdict.diagnosis, ::testing::Contains(::testing::AnyOfArray(wanted)))
        << entry.at("name");
  });
}

}  // namespace
}  // namespace attn
