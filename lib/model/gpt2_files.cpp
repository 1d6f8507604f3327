#include "model/gpt2_files.h"

#include <fmt/core.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include "core/error.h"
#include "core/text.h"
#include "io/safetensors_folder.h"

namespace attn {
namespace {

struct Pair {
  const char* vocabulary;
  const char* merges;
};
constexpr Pair kPairs[] = {{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}};
// GPT-2's own take 1 MB and half of one.
constexpr Index kMostBytes = Index{64} << 20;

std::string path_of(const std::string& folder, const char* file) {
  return (std::filesystem::path(folder) / file).string();
}

std::optional<Pair> pair_in(const std::string& folder) {
  std::error_code error;
  for (const Pair& pair : kPairs) {
    if (std::filesystem::exists(path_of(folder, pair.vocabulary), error) &&
        std::filesystem::exists(path_of(folder, pair.merges), error)) {
      return pair;
    }
  }
  return std::nullopt;
}

}  // namespace

std::shared_ptr<const Gpt2Tokenizer> read_gpt2_tokenizer(const std::string& folder,
                                                         const SpecialTokens& specials,
                                                         Index vocab_size) {
  const std::optional<Pair> pair = pair_in(folder);
  if (!pair) {
    throw DataError(
        fmt::format("{}: neither vocab.json and merges.txt nor encoder.json and "
                    "vocab.bpe are there",
                    escaped(folder)));
  }
  const ByteSource vocabulary = open_in_folder(folder, pair->vocabulary, kMostBytes);
  const ByteSource merges = open_in_folder(folder, pair->merges, kMostBytes);
  try {
    return std::make_shared<Gpt2Tokenizer>(as_text(vocabulary.bytes()), as_text(merges.bytes()),
                                           specials, vocab_size);
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {} and {}: {}", escaped(folder), pair->vocabulary,
                                pair->merges, error.what()));
  }
}

}  // namespace attn
