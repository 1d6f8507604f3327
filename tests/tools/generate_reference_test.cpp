// The program against a model trained elsewhere.

#include <gtest/gtest.h>

#include <fmt/core.h>

#include <fstream>

#include "io/hdf5_reader.h"
#include "support/process.h"
#include "support/truth.h"

namespace attn {
namespace {

std::string line_of(const Tensor<Index>& tokens, Index row) {
  std::string line;
  for (Index i = 0; i < tokens.dim(1); ++i) {
    line += fmt::format("{}{}", i == 0 ? "" : " ", tokens.matrix()(row, i));
  }
  return line + "\n";
}

// Every file with prompts and greedy continuations of a decoder: the tokens are the recorded ones,
// with the cache and without.
TEST(GenerateReference, ContinuesEveryPrompt) {
  testing::TruthCount count;
  for (const auto& file : testing::reference_files()) {
    const Hdf5Reader reader = Hdf5Reader::open(file.string());
    if (reader.text_attribute("/", "arch") != "decoder" || !reader.has_dataset("/input/prompts") ||
        !reader.has_dataset("/expected/tokens")) {
      continue;
    }
    const auto prompts = reader.read<Index>("/input/prompts");
    const auto expected = reader.read<Index>("/expected/tokens");
    const testing::TempFolder folder;
    std::string lines, wanted;
    for (Index row = 0; row < prompts.dim(0); ++row) {
      lines += line_of(prompts, row);
      wanted += line_of(expected, row);
    }
    std::ofstream(folder / "prompts") << lines;
    for (const char* cache : {"", "--no-cache"}) {
      const auto result = testing::run_shell(
          fmt::format("tinygpt-generate '{}' --prompts '{}' --new-tokens {} -q {}", file.string(),
                      (folder / "prompts").string(), expected.dim(1), cache));
      EXPECT_EQ(result.status, 0) << file << ": " << result.err;
      EXPECT_EQ(result.out, wanted) << file << " " << cache;
    }
    count.hold();
  }
}

}  // namespace
}  // namespace attn
