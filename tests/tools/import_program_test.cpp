// Runs tinygpt-import as a program: over every folder of the safetensors corpus, and over the small
// checkpoints, whose golden.json tinygpt-generate must then meet; there and back again.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/hdf5_reader.h"
#include "model/checkpoint.h"
#include "support/process.h"
#include "support/truth.h"

namespace attn::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string quoted(const fs::path& path) {
  return "'" + path.string() + "'";
}

void expect_within(const RunResult& got, const json& limits) {
  ASSERT_FALSE(got.timed_out);
  EXPECT_LT(got.status, 128) << "ended by a signal";
#ifndef ATTNTOOLS_ASAN
  EXPECT_LE(got.seconds, limits.at("seconds").get<double>());
  EXPECT_LE(got.peak_rss_kib, limits.at("peak_rss_mib").get<long>() * 1024);
#endif
  EXPECT_LE(got.err.size(), limits.at("stderr_max_bytes_on_error").get<std::size_t>());
  for (const json& never : limits.at("stderr_never")) {
    EXPECT_EQ(got.err.find(never.get<std::string>()), std::string::npos) << got.err;
  }
}

void expect_refusal(const RunResult& got, const json& expect, const fs::path& output_folder) {
  EXPECT_EQ(got.status, expect.at("exit").get<int>());
  EXPECT_EQ(got.out, "");
  EXPECT_TRUE(fs::is_empty(output_folder)) << "a file is left behind";
  EXPECT_EQ(std::count(got.err.begin(), got.err.end(), '\n'), 1) << got.err;
  const std::string message = lower(got.err);
  for (const json& group : expect.at("message")) {
    bool said = false;
    for (const json& word : group) {
      said = said || message.find(lower(word.get<std::string>())) != std::string::npos;
    }
    EXPECT_TRUE(said) << message << " lacks one of " << group;
  }
}

void expect_logits(const fs::path& file, const std::vector<Index>& probe, const json& expect) {
  const Checkpoint read = read_checkpoint(Hdf5Reader::open(file.string()));
  Workspace work;
  TokenInput input;
  input.ids = probe;
  input.rows.seq_len = static_cast<Index>(probe.size());
  const Matrix<float> logits =
      read.model->forward(read.model->pass(work), input, nullptr, nullptr, LogitRows::kLast);
  const auto wanted = expect.at("last_logits_f64").get<std::vector<double>>();
  ASSERT_EQ(logits.cols(), static_cast<Index>(wanted.size()));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    // A block of width 8 costs float32 a few times its 6e-8 of logits of size 1.
    EXPECT_NEAR(logits(0, static_cast<Index>(i)), wanted[i], 2e-6) << "logit " << i;
  }
}

TEST(ImportProgramCases, EveryFolderEndsAsTheManifestSays) {
  TruthCount count;
  for (const fs::path& place : case_places("safetensors")) {
    const json manifest = json::parse(file_text(place / "manifest.json"));
    const auto probe = manifest.at("probe_ids").get<std::vector<Index>>();
    for (const json& one : manifest.at("cases")) {
      const fs::path folder = place / one.at("folder").get<std::string>();
      SCOPED_TRACE(folder.string() + ": " + one.at("why").get<std::string>());
      if (!fs::exists(folder)) {
        count.skip(folder, "not here");
        continue;
      }
      const TempFolder output;
      const RunResult got = run_shell(
          fmt::format("tinygpt-import {} -q -o {}", quoted(folder), quoted(output / "model.h5")));
      expect_within(got, manifest.at("limits"));
      if (one.at("expect").at("result") == "ok") {
        EXPECT_EQ(got.status, 0) << got.err;
        EXPECT_EQ(got.err, "");
        expect_logits(output / "model.h5", probe, one.at("expect"));
      } else {
        expect_refusal(got, one.at("expect"), output.path());
      }
      count.hold();
    }
  }
}

std::string spaced(const std::vector<Index>& ids) {
  std::string text;
  for (const Index id : ids) text += fmt::format("{}{}", text.empty() ? "" : " ", id);
  return text;
}

// A prompt as tinygpt-generate takes it: text where the model has a vocabulary.
std::string prompt_of(const json& golden) {
  std::string prompt = golden.contains("prompt")
                           ? golden.at("prompt").get<std::string>()
                           : spaced(golden.at("prompt_ids").get<std::vector<Index>>());
  for (std::size_t at = prompt.find('\n'); at != std::string::npos; at = prompt.find('\n')) {
    prompt.replace(at, 1, "\\n");
  }
  return "$'" + prompt + "'";
}

json generated(const fs::path& model, const json& golden, const std::string& options) {
  const RunResult got = run_shell(fmt::format("tinygpt-generate {} --prompt {} --json -q {}",
                                              quoted(model), prompt_of(golden), options));
  EXPECT_EQ(got.status, 0) << got.err;
  return json::parse(got.out, nullptr, false);
}

// The new ids of the golden file's whole sequence.
std::vector<Index> new_ids(const json& golden, const json& whole) {
  auto ids = whole.get<std::vector<Index>>();
  ids.erase(ids.begin(), ids.begin() + static_cast<Index>(golden.at("prompt_ids").size()));
  return ids;
}

void hold_generation(const fs::path& model, const json& golden) {
  const std::vector<Index> greedy = new_ids(golden, golden.at("greedy_ids"));
  for (const char* cache : {"", "--no-cache", "--prefill-chunk 3"}) {
    const json made =
        generated(model, golden, fmt::format("--new-tokens {} {}", greedy.size(), cache));
    EXPECT_EQ(made.at("results").at(0).at("new_ids").get<std::vector<Index>>(), greedy) << cache;
  }
  const json beams =
      generated(model, golden, "--beams 4 --length-penalty 0 --new-tokens 12").at("results").at(0);
  const json& wanted = golden.at("beam4_12");
  const json& found = beams.at("hypotheses");
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(found[i].at("new_ids").get<std::vector<Index>>(),
              new_ids(golden, wanted[i].at("ids")));
    EXPECT_NEAR(found[i].at("log_prob").get<double>(), wanted[i].at("score").get<double>(), 2e-3);
  }
}

void hold_score(const fs::path& model, const json& golden, const fs::path& texts) {
  const fs::path text = texts / golden.value("val_text", "tinyshakespeare.txt");
  for (const auto& [key, wanted] : golden.items()) {
    if (!key.starts_with("val_loss_nonoverlapping_") || !fs::exists(text)) continue;
    const RunResult got = run_shell(
        fmt::format("tinygpt-generate {} --score {} --val-fraction 0.1 --score-window {} --json",
                    quoted(model), quoted(text), key.substr(key.rfind('_') + 1)));
    ASSERT_EQ(got.status, 0) << got.err;
    const json score = json::parse(got.out);
    EXPECT_NEAR(score.at("loss").get<double>(), wanted.get<double>(), 1e-4);
  }
}

// Exported and imported again: the same bytes, because the folder has the same name.
void hold_there_and_back(const fs::path& folder, const TempFolder& work) {
  const fs::path name = folder.filename();
  const RunResult got = run_shell(
      fmt::format("cd {} && mkdir out && tinygpt-import -i model.h5 --export out/{} -q > report && "
                  "tinygpt-import out/{} -o back.h5 -q > report && cmp model.h5 back.h5 && "
                  "rm -r out && mkdir out && tinygpt-import -i model.h5 --export out/half --dtype "
                  "bf16 -q > report "
                  "&& tinygpt-import out/half -q -o half.h5 > report",
                  quoted(work.path()), quoted(name), quoted(name)));
  EXPECT_EQ(got.status, 0) << got.out << got.err;
  EXPECT_EQ(got.err, "");
}

TEST(ImportProgramReference, CheckpointsGenerateWhatTheirGoldenFilesSay) {
  TruthCount count;
  for (const fs::path& place : truth_places("data", "ATTNTOOLS_DATA_DIR", "")) {
    for (const auto& entry : fs::directory_iterator(place)) {
      const fs::path folder = entry.path();
      if (!fs::exists(folder / "golden.json")) continue;
      SCOPED_TRACE(folder.string());
      const json golden = json::parse(file_text(folder / "golden.json"));
      const TempFolder work;
      const fs::path model = work / "model.h5";
      const RunResult got =
          run_shell(fmt::format("tinygpt-import {} -q -o {}", quoted(folder), quoted(model)));
      ASSERT_EQ(got.status, 0) << got.err;
      hold_generation(model, golden);
      hold_score(model, golden, place);
      hold_there_and_back(folder, work);
      count.hold();
    }
  }
}

}  // namespace
}  // namespace attn::testing
