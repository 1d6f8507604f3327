#include "check/verdict/explanations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "check/mistakes/suppositions.h"
#include "check/problems.h"
#include "core/error.h"
#include "support/places.h"
#include "support/truth.h"

namespace attn {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(Explanations, ReadEntriesOfAFile) {
  const auto found = parse_explanations("sight",
                                        "= a-b\nwhat\ncause\n\nmore\n  = no mark\n\n= c\n"
                                        "w\nc\n\nt\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "a-b");
  EXPECT_EQ(found[0].topic, "sight");
  EXPECT_EQ(found[0].what, "what");
  EXPECT_EQ(found[0].cause, "cause");
  EXPECT_EQ(found[0].text, "more\n  = no mark");
  EXPECT_EQ(found[1].text, "t");
  EXPECT_THROW(parse_explanations("x", "a-b\nwhat\n"), ShapeError);
  EXPECT_THROW(parse_explanations("x", "= a\nwhat\ncause\nmore\n"), ShapeError);
}

TEST(Explanations, AreOneToAName) {
  std::set<std::string_view> names;
  for (const Explanation& one : explanations()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name << " twice";
  }
}

TEST(Explanations, FitATerminal) {
  for (const Explanation& one : explanations()) {
    EXPECT_LE(one.what.size(), 98U) << one.name;
    EXPECT_LE(one.cause.size(), 104U) << one.name;
    for (std::string_view rest = one.text; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      EXPECT_LE(end, 80U) << one.name << ": " << rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
}

TEST(Explanations, EndInACure) {
  for (const Explanation& one : explanations()) {
    EXPECT_THAT(std::string(one.text), ::testing::HasSubstr("\ncure: ")) << one.name;
  }
}

TEST(Explanations, KnowTheNearestName) {
  EXPECT_EQ(nearest_mistake("gqa-tield"), "gqa-tiled");
  EXPECT_EQ(nearest_mistake("zzzzzz"), "");
  EXPECT_EQ(find_explanation("gqa-tield"), nullptr);
}

// Every kind of problem there is, so that every kind of supposition is among them.
TEST(Explanations, ExistForAllThatIsSupposed) {
  std::set<std::string> supposed;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    for (const Supposition& one : suppositions(any_problem(seed))) supposed.insert(one.name);
  }
  EXPECT_GT(supposed.size(), 30U);
  for (const std::string& name : supposed) EXPECT_NE(find_explanation(name), nullptr) << name;
}

// Words with a dash in the sources that name mistakes, less the names of checks and options.
TEST(Explanations, ExistForAllThatTheSourcesName) {
  const std::set<std::string> others = {"finite-inputs",     "rows-sum-to-1",
                                        "weights-in-range",  "future-weights-zero",
                                        "causal-probe",      "hidden-weights-zero",
                                        "out-within-values", "one-key-gives-its-value",
                                        "finite-values",     "top-left",
                                        "bottom-right",      "half-split"};
  const std::regex file_name(".*(suppos|diagnos).*\\.cpp");
  const std::regex word("\"([a-z0-9]+(-[a-z0-9]+)+)\"");
  int names = 0;
  const fs::path folder = testing::source_folder() / "lib" / "check";
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!std::regex_match(entry.path().filename().string(), file_name)) continue;
    const std::string text = text_of(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), word), end; at != end; ++at) {
      const std::string name = (*at)[1];
      if (others.count(name) != 0) continue;
      EXPECT_NE(find_explanation(name), nullptr) << entry.path() << ": " << name;
      ++names;
    }
  }
  EXPECT_GT(names, 40);
}

TEST(ExplanationCases, ExistForAllThatTheManifestsName) {
  attn::testing::TruthCount count;
  for (const char* kind : {"attention", "posenc"}) {
    for (const fs::path& folder : attn::testing::case_places(kind)) {
      if (!fs::exists(folder / "manifest.json")) {
        count.skip(folder, "no manifest");
        continue;
      }
      const auto manifest = nlohmann::json::parse(text_of(folder / "manifest.json"));
      for (const auto& entry : manifest.at("cases")) {
        const auto& name = entry.at("diagnosis");
        if (!name.is_string() || name.get<std::string>().empty()) continue;
        EXPECT_NE(find_explanation(name.get<std::string>()), nullptr) << name;
      }
      count.hold();
    }
  }
}

}  // namespace
}  // namespace attn
