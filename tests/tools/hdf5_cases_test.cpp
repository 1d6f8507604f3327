// Runs tensor-show over every case of an HDF5 corpus: what its manifest says must be read is read
// exactly, the rest is refused with the right words; the same by path and through a pipe.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/process.h"
#include "support/truth.h"

namespace attn::testing {
namespace {

using nlohmann::json;

constexpr int kDone = 0;
constexpr int kNo = 1;
constexpr int kData = 3;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string quoted(const std::string& text) {
  std::string safe(1, '\'');
  for (const char c : text) {
    if (c == '\'') {
      safe.append("'\\''");
    } else {
      safe.push_back(c);
    }
  }
  safe.push_back('\'');
  return safe;
}

std::string command(const json& one, const std::string& input) {
  std::string line = fmt::format("tensor-show -i {} --dataset {} --format json", input,
                                 quoted(one.at("dataset").get<std::string>()));
  if (one.contains("want") && one.at("want").contains("rank")) {
    line += " --rank " + std::to_string(one.at("want").at("rank").get<int>());
  }
  if (one.at("expect").at("result") == "finding") line += " --require-finite";
  return line;
}

// Row-major numbers of nested arrays; a bare number is a list of one.
void flatten(const json& nested, std::vector<json>& flat) {
  if (nested.is_array()) {
    for (const json& inner : nested) flatten(inner, flat);
  } else {
    flat.push_back(nested);
  }
}

void expect_values(const json& expect, const std::string& out) {
  const json document = json::parse(out, nullptr, false);
  ASSERT_FALSE(document.is_discarded()) << "stdout is no JSON document: " << out.substr(0, 200);
  EXPECT_EQ(document.at("shape"), expect.at("shape"));
  std::vector<json> wanted;
  std::vector<json> got;
  flatten(expect.at("values"), wanted);
  flatten(document.at("values"), got);
  ASSERT_EQ(got.size(), wanted.size());
  int nonfinite = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].is_string()) {  // "nan", "inf", "-inf"
      ++nonfinite;
      EXPECT_TRUE(got[i].is_null()) << "value " << i;
    } else {
      ASSERT_TRUE(got[i].is_number()) << "value " << i;
      EXPECT_EQ(got[i].get<double>(), wanted[i].get<double>()) << "value " << i;
    }
  }
  const json& counted = document.at("nonfinite");
  EXPECT_EQ(
      counted.at("nan").get<int>() + counted.at("inf").get<int>() + counted.at("-inf").get<int>(),
      nonfinite);
  if (expect.contains("first")) {
    EXPECT_EQ(counted.at("first"), expect.at("first"));
  }
}

void expect_message(const json& expect, const std::string& err) {
  if (!expect.contains("message")) return;
  const std::string text = lower(err);
  for (const json& group : expect.at("message")) {
    bool found = false;
    for (const json& needle : group) {
      found = found || text.find(lower(needle.get<std::string>())) != std::string::npos;
    }
    EXPECT_TRUE(found) << "none of " << group << " in: " << err;
  }
}

void expect_outcome(const json& one, const json& limits, const RunResult& got) {
  const json& expect = one.at("expect");
  const std::string result = expect.at("result");
  ASSERT_FALSE(got.timed_out);
  EXPECT_LT(got.status, 128) << "ended by a signal";
  for (const json& never : limits.at("stderr_never")) {
    EXPECT_EQ(got.err.find(never.get<std::string>()), std::string::npos) << got.err;
  }
#ifndef ATTNTOOLS_ASAN
  EXPECT_LE(got.seconds, limits.at("seconds").get<double>());
  EXPECT_LE(got.peak_rss_kib, limits.at("peak_rss_mib").get<long>() * 1024);
#endif
  const bool refused = result == "error" || (result == "either" && got.status != kDone);
  if (refused) {
    EXPECT_EQ(got.status, kData) << got.out.substr(0, 200) << got.err;
    EXPECT_EQ(got.out, "");
    expect_message(expect, got.err);
    const auto lines = std::count(got.err.begin(), got.err.end(), '\n');
    EXPECT_GE(lines, 1);
    EXPECT_LE(lines, limits.at("stderr_max_lines_on_error").get<long>()) << got.err;
  } else if (result == "finding") {
    EXPECT_EQ(got.status, kNo) << got.err;
    expect_values(expect, got.out);
    expect_message(expect, got.err);
  } else {
    EXPECT_EQ(got.status, kDone) << got.err;
    EXPECT_TRUE(got.err.starts_with("tensor-show: read ")) << got.err;
    EXPECT_EQ(std::count(got.err.begin(), got.err.end(), '\n'), 1) << got.err;
    if (expect.contains("values")) expect_values(expect, got.out);
  }
}

bool known_result(const json& one) {
  const std::string result = one.at("expect").at("result");
  return result == "ok" || result == "error" || result == "finding" || result == "either";
}

template <class Visit>
void each_case(TruthCount& count, const Visit& visit) {
  for (const auto& folder : case_places("hdf5")) {
    const json manifest = json::parse(file_text(folder / "manifest.json"));
    for (const json& one : manifest.at("cases")) {
      const std::filesystem::path file = folder / one.at("file").get<std::string>();
      if (!known_result(one)) {
        count.skip(file, "a result of an unknown kind");
        continue;
      }
      SCOPED_TRACE(file.string() + ": " + one.value("why", ""));
      visit(one, manifest.at("limits"), file);
      count.hold();
    }
  }
}

TEST(Hdf5Cases, ByPath) {
  TruthCount count;
  each_case(count, [](const json& one, const json& limits, const std::filesystem::path& file) {
    expect_outcome(one, limits, run_shell(command(one, quoted(file))));
  });
}

TEST(Hdf5Cases, ByStdin) {
  TruthCount count;
  each_case(count, [](const json& one, const json& limits, const std::filesystem::path& file) {
    if (one.value("via", "").find("stdin") == std::string::npos) return;
    RunOptions options;
    options.stdin_file = file;
    expect_outcome(one, limits, run_shell(command(one, "-"), options));
  });
}

TEST(Hdf5Cases, ThroughAPipe) {
  TruthCount count;
  each_case(count, [](const json& one, const json& limits, const std::filesystem::path& file) {
    if (one.value("via", "").find("stdin") == std::string::npos) return;
    expect_outcome(one, limits,
                   run_shell(fmt::format("cat {} | {}", quoted(file), command(one, "-"))));
  });
}

// All of a file against itself: equal, different where a NaN is, or refused.
TEST(Hdf5Cases, ComparingSurvives) {
  TruthCount count;
  each_case(count, [](const json&, const json&, const std::filesystem::path& file) {
    const RunResult got = run_shell(fmt::format("tensor-diff {} {}", quoted(file), quoted(file)));
    EXPECT_FALSE(got.timed_out);
    EXPECT_LE(got.status, kData) << got.err;
  });
}

// Listing walks through all of a hostile file; whatever it finds, it ends and says one thing.
TEST(Hdf5Cases, ListingSurvives) {
  TruthCount count;
  each_case(count, [](const json&, const json& limits, const std::filesystem::path& file) {
    const RunResult got = run_shell("tensor-show --list " + quoted(file));
    EXPECT_FALSE(got.timed_out);
    EXPECT_TRUE(got.status == kDone || got.status == kData) << got.status;
    EXPECT_EQ(got.status == kData, got.out.empty());
    for (const json& never : limits.at("stderr_never")) {
      EXPECT_EQ((got.out + got.err).find(never.get<std::string>()), std::string::npos);
    }
  });
}

TEST(Hdf5Cases, OpensNoOtherFile) {
  if (run_shell("strace -e trace=openat true 2>&1 | grep -q openat").status != 0) {
    GTEST_SKIP() << "needs strace, and leave to use it";
  }
  TruthCount count;
  each_case(count, [](const json& one, const json& limits, const std::filesystem::path& file) {
    const RunResult got = run_shell(
        fmt::format("strace -f -e trace=open,openat {} 2>&1", command(one, quoted(file))));
    for (const json& never : limits.at("must_not_open")) {
      EXPECT_EQ(got.out.find(fmt::format("\"{}\"", never.get<std::string>())), std::string::npos)
          << got.out;
    }
  });
}

}  // namespace
}  // namespace attn::testing
