// A real text at a small shape: the program learns from context, and what it wrote continues text.

#include <gtest/gtest.h>

#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/process.h"
#include "support/truth.h"

namespace attn {
namespace {

// Trains for a few seconds and returns what the model saves over guessing by the characters'
// frequencies alone, in nats per held-out character.
double nats_saved(const std::filesystem::path& text, int steps) {
  const testing::TempFolder folder;
  const std::string model = (folder / "model.h5").string();
  const auto trained = testing::run_shell(fmt::format(
      "tinygpt-train --text '{}' --dim 48 --batch 16 --position alibi --steps {} --json -q -o '{}'",
      text.string(), steps, model));
  EXPECT_EQ(trained.status, 0) << trained.err;
  if (trained.status != 0) return 0;
  const auto generated = testing::run_shell(
      fmt::format("tinygpt-generate '{}' --prompt 'the ' --new-tokens 100 -q", model));
  EXPECT_EQ(generated.status, 0) << generated.err;
  EXPECT_GE(generated.out.size(), 101U);  // a character is a byte or more, and a line end follows
  const auto report = nlohmann::json::parse(trained.out);
  return report.at("unigram").get<double>() - report.at("loss").get<double>();
}

// Both bars lie where knowing only the last character would do a little better (the bigram entropy
// of tinyshakespeare is 0.86 nats below the unigram entropy): far from any accident.
TEST(TextTraining, LearnsTheGpl) {
  const std::filesystem::path text = "/usr/share/common-licenses/GPL-3";
  if (!std::filesystem::exists(text)) GTEST_SKIP() << text << " is not here";
  EXPECT_GT(nats_saved(text, 200), 0.8);
}

TEST(TextTrainingReference, LearnsShakespeare) {
  const auto places = testing::truth_places("data", "ATTNTOOLS_DATA_DIR", "tinyshakespeare.txt");
  if (places.empty() || !std::filesystem::exists(places.front())) {
    GTEST_SKIP() << "tinyshakespeare.txt is not here";
  }
  EXPECT_GT(nats_saved(places.front(), 200), 0.7);
}

}  // namespace
}  // namespace attn
