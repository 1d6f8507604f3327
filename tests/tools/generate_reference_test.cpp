// The program against models and continuations made elsewhere.

#include <gtest/gtest.h>

#include <fmt/core.h>

#include <fstream>

#include "io/hdf5_reader.h"
#include "support/process.h"
#include "support/truth.h"

namespace attn {
namespace {

// The ids of one row up to `end` of them, negative ones (nothing) and a last `without` left out.
std::string line_of(const Tensor<Index>& tokens, Index row, Index without = -1) {
  std::vector<Index> ids;
  for (Index i = 0; i < tokens.dim(1); ++i) {
    if (tokens.matrix()(row, i) >= 0) ids.push_back(tokens.matrix()(row, i));
  }
  if (!ids.empty() && ids.back() == without) ids.pop_back();
  std::string line;
  for (const Index id : ids) line += fmt::format("{}{}", line.empty() ? "" : " ", id);
  return line + "\n";
}

// Where a file's greedy continuations are, and what ends them.
struct Group {
  std::string path;
  Index eos = -1;
};

std::vector<Group> groups_of(const Hdf5Reader& reader) {
  std::vector<Group> groups;
  const auto consider = [&](const std::string& path) {
    if (!reader.has_dataset(path + "/tokens")) return;
    if (reader.info(path + "/tokens").shape.size() != 2) return;
    const auto eos = reader.int_attribute(path, "eos_id");
    // trained_gpt's have neither an end nor log-probabilities; a beam's have scores.
    if (eos.has_value() != reader.has_dataset(path + "/log_probs")) return;
    groups.push_back({path, eos.value_or(-1)});
  };
  if (!reader.has_group("/expected")) return groups;
  consider("/expected");
  for (const std::string& name : reader.children("/expected")) {
    if (reader.has_group("/expected/" + name)) consider("/expected/" + name);
  }
  return groups;
}

// What the program is given: prompts, or an encoder-decoder's sources without their padding.
std::optional<Tensor<Index>> prompts_of(const Hdf5Reader& reader) {
  const auto arch = reader.text_attribute("/", "arch");
  if (arch == "decoder" && reader.has_dataset("/input/prompts")) {
    return reader.read<Index>("/input/prompts");
  }
  // Prompts beside sources are more than BOS: the program gives none.
  if (arch != "encoder_decoder" || reader.has_dataset("/input/prompts") ||
      !reader.has_dataset("/input/source")) {
    return std::nullopt;
  }
  auto source = reader.read<Index>("/input/source");
  if (reader.has_dataset("/input/source_mask")) {
    const auto mask = reader.read<std::uint8_t>("/input/source_mask");
    for (std::size_t i = 0; i < source.values.size(); ++i) {
      if (mask.values[i] == 0) source.values[i] = -1;
    }
  }
  return source;
}

// Every file with greedy continuations: the tokens are the recorded ones, with the cache and
// without, and end where they end.
TEST(GenerateReference, ContinuesEveryPrompt) {
  testing::TruthCount count;
  for (const auto& file : testing::reference_files()) {
    const Hdf5Reader reader = Hdf5Reader::open(file.string());
    const auto prompts = prompts_of(reader);
    const std::vector<Group> groups = groups_of(reader);
    if (!prompts || groups.empty()) {
      count.skip(file, prompts ? "no greedy continuations" : "nothing to prompt a model with");
      continue;
    }
    const bool two_stacks = reader.text_attribute("/", "arch") == "encoder_decoder";
    const testing::TempFolder folder;
    {
      std::ofstream lines(folder / "prompts");
      for (Index row = 0; row < prompts->dim(0); ++row) lines << line_of(*prompts, row);
    }
    for (const Group& group : groups) {
      const auto expected = reader.read<Index>(group.path + "/tokens");
      std::string wanted;
      for (Index row = 0; row < expected.dim(0); ++row) wanted += line_of(expected, row, group.eos);
      for (const char* cache : {"", "--no-cache", "--cache paged --page-size 4"}) {
        const auto result = testing::run_shell(fmt::format(
            "tinygpt-generate '{}' --prompts '{}' --new-tokens {} {} {} -q {}", file.string(),
            (folder / "prompts").string(), expected.dim(1), two_stacks ? "--bos 0" : "",
            group.eos >= 0 ? fmt::format("--eos {}", group.eos) : "", cache));
        EXPECT_EQ(result.status, 0) << file << ": " << result.err;
        EXPECT_EQ(result.out, wanted) << file << " " << group.path << " " << cache;
      }
    }
    count.hold();
  }
}

}  // namespace
}  // namespace attn
