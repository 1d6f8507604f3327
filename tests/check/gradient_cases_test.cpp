#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "check/cases/case_file.h"
#include "check/check_attention.h"
#include "io/tensor_file.h"
#include "support/truth.h"

namespace attn {
namespace {

namespace fs = std::filesystem;

// Gradients by PyTorch's autograd, written by scripts/make_gradient_cases.py.
TEST(GradientCases, GetTheirVerdictAndTheirName) {
  attn::testing::TruthCount count;
  for (const fs::path& folder : attn::testing::case_places("gradients")) {
    if (!fs::exists(folder / "manifest.json")) {
      count.skip(folder, "no manifest");
      continue;
    }
    std::ifstream stream(folder / "manifest.json");
    const nlohmann::json manifest = nlohmann::json::parse(stream);
    for (const auto& entry : manifest.at("cases")) {
      const fs::path path = folder / entry.at("file").get<std::string>();
      const TensorFile file = TensorFile::open(path.string());
      const AttentionCase recorded = read_case(file, read_case_attributes(file), {});
      ASSERT_TRUE(recorded.gradient.has_value()) << path;
      const Verdict verdict = check_attention(recorded, {}).verdict;
      EXPECT_EQ(outcome_name(verdict.outcome()), entry.at("expected").get<std::string>()) << path;
      if (entry.at("diagnosis").is_string()) {
        EXPECT_THAT(names_of(verdict.diagnosis),
                    ::testing::Contains(entry.at("diagnosis").get<std::string>()))
            << path;
      }
      count.hold();
    }
  }
}

}  // namespace
}  // namespace attn
