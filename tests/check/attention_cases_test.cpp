#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "check/cases/case_file.h"
#include "check/check_attention.h"
#include "io/tensor_file.h"
#include "support/truth.h"

namespace attn {
namespace {

namespace fs = std::filesystem;

AttentionCase read_file(const fs::path& file) {
  const TensorFile reader = TensorFile::open(file.string());
  return read_case(reader, read_case_attributes(reader), {});
}

// The reference against an independent one, both in float64: sums of up to some hundred terms.
void expect_truth(const AttentionCase& recorded, const fs::path& file) {
  const TensorFile reader = TensorFile::open(file.string());
  const AttentionAnswer answer = reference_attention(recorded.problem, true, 2);
  // The denominator of a row without keys is exp(sink): its logarithm may be said to be the sink.
  Tensor<double> lse = answer.lse;
  const Tensor<double> said = reader.read<double>("/lse");
  const std::vector<double>& sinks = recorded.problem.sinks;
  for (Index row = 0; row < lse.size() && !sinks.empty(); ++row) {
    const Index head = row / recorded.problem.q_len() % recorded.problem.heads();
    if (std::isinf(lse.data()[row]) && said.data()[row] == sinks[static_cast<std::size_t>(head)]) {
      lse.data()[row] = said.data()[row];
    }
  }
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
  near("lse", lse, reader.read<double>("/lse"));
}

nlohmann::json manifest_of(const fs::path& folder) {
  std::ifstream file(folder / "manifest.json");
  return nlohmann::json::parse(file);
}

// Every case of every manifest, with its file; the task says whether it held it.
template <class Task>
void for_each_case(const Task& task) {
  attn::testing::TruthCount count;
  for (const fs::path& folder : attn::testing::case_places("attention")) {
    const nlohmann::json manifest = manifest_of(folder);
    for (const auto& entry : manifest.at("cases")) {
      if (task(entry, folder)) {
        count.hold();
      } else {
        count.skip(folder / entry.at("file").get<std::string>(), "its truth is not here");
      }
    }
  }
}

AttentionReport report_of(const nlohmann::json& entry, const fs::path& folder) {
  const AttentionCase recorded = read_file(folder / entry.at("file").get<std::string>());
  return check_attention(recorded, {.maps = true, .threads = 2});
}

TEST(AttentionCases, GetTheirVerdicts) {
  for_each_case([](const nlohmann::json& entry, const fs::path& folder) {
    const AttentionReport report = report_of(entry, folder);
    const bool passes = entry.at("expected") == "pass";
    EXPECT_EQ(report.verdict.outcome(), passes ? Outcome::kPass : Outcome::kFail)
        << entry.at("name");
    for (const Check& check : report.verdict.checks) {
      if (!passes || check.outcome != Outcome::kFail) continue;
      ADD_FAILURE() << entry.at("name") << ": " << check.name << " is off by " << check.max_error
                    << ", allowed " << check.limit;
    }
    return true;
  });
}

TEST(AttentionCases, GetTheNameOfTheirMistake) {
  for_each_case([](const nlohmann::json& entry, const fs::path& folder) {
    const std::vector<std::string> names = names_of(report_of(entry, folder).verdict.diagnosis);
    if (entry.at("expected") == "pass") {
      EXPECT_THAT(names, ::testing::IsEmpty()) << entry.at("name");
      return true;
    }
    std::vector<std::string> wanted = entry.at("also_acceptable");
    wanted.push_back(entry.at("diagnosis"));
    EXPECT_THAT(names, ::testing::Contains(::testing::AnyOfArray(wanted))) << entry.at("name");
    return true;
  });
}

TEST(AttentionCases, AreWhatTheReferenceComputes) {
  for_each_case([](const nlohmann::json& entry, const fs::path& folder) {
    const fs::path truth = folder / entry.value("truth", std::string("none"));
    if (!fs::exists(truth)) return false;
    expect_truth(read_file(folder / entry.at("file").get<std::string>()), truth);
    return true;
  });
}

TEST(AttentionCases, TheKernelAgrees) {
  for_each_case([](const nlohmann::json& entry, const fs::path& folder) {
    EXPECT_EQ(report_of(entry, folder).kernel.outcome(), Outcome::kPass) << entry.at("name");
    return true;
  });
}

}  // namespace
}  // namespace attn
