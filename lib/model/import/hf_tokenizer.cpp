#include "model/import/hf_tokenizer.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/error.h"
#include "core/text.h"
#include "io/json_text.h"
#include "io/safetensors_folder.h"
#include "text/char_tokenizer.h"
#include "text/gpt2_tokenizer.h"
#include "text/id_tokenizer.h"

namespace attn {
namespace {

constexpr const char* kVocabulary = "vocab.json";
constexpr const char* kMerges = "merges.txt";
constexpr const char* kTokenizerConfig = "tokenizer_config.json";

bool has(const std::string& folder, const char* name) {
  struct stat status = {};
  return stat((folder + "/" + name).c_str(), &status) == 0;
}

HfTokenizer ids_only(Index vocab_size, const SpecialTokens& specials, std::string note) {
  if (specials == SpecialTokens()) return {nullptr, std::move(note)};
  return {std::make_shared<IdTokenizer>(vocab_size, specials), std::move(note)};
}

std::shared_ptr<const Tokenizer> read_bpe(const std::string& folder, const char* vocabulary,
                                          const char* merges, Index vocab_size,
                                          const SpecialTokens& specials, Index max_bytes) {
  const ByteSource words = open_in_folder(folder, vocabulary, max_bytes);
  const ByteSource pairs = open_in_folder(folder, merges, max_bytes);
  std::shared_ptr<const Tokenizer> made;
  try {
    made = std::make_shared<Gpt2Tokenizer>(as_text(words.bytes()), as_text(pairs.bytes()), specials,
                                           vocab_size);
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", words.name(), error.what()));
  }
  if (made->vocab_size() != vocab_size) {
    throw DataError(fmt::format("{}: it has {} tokens, the model {}", words.name(),
                                made->vocab_size(), vocab_size));
  }
  return made;
}

// Words in the order of their ids, which must be 0, 1, 2 ...
std::vector<std::string> words_of(const ByteSource& file, Index vocab_size) {
  const nlohmann::json object = parse_json_object(as_text(file.bytes()), file.name());
  const auto fail = [&](const std::string& what) {
    throw DataError(fmt::format("{}: {}", file.name(), what));
  };
  if (static_cast<Index>(object.size()) > vocab_size) {
    fail(fmt::format("it has {} tokens, the model {}", object.size(), vocab_size));
  }
  std::vector<std::string> words(object.size());
  std::vector<bool> taken(object.size());
  for (const auto& [word, id] : object.items()) {
    const bool fits = id.is_number_unsigned() && id.get<std::uint64_t>() < words.size();
    if (!fits || taken[id.get<std::size_t>()]) {
      fail(fmt::format("'{}': its ids must be 0 to {}, each once", escaped(word),
                       static_cast<Index>(words.size()) - 1));
    }
    words[id.get<std::size_t>()] = word;
    taken[id.get<std::size_t>()] = true;
  }
  return words;
}

bool is_character(const std::string& word) {
  return !word.empty() && utf8_length(word) == word.size();
}

// A tokenizer of characters, where that is what the words are.
HfTokenizer of_characters(const std::string& file, const std::vector<std::string>& words,
                          SpecialTokens specials, Index vocab_size) {
  std::string characters;
  std::optional<Index> first;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto id = static_cast<Index>(i);
    if (is_character(words[i])) {
      if (!first) first = id;
      characters += words[i];
      continue;
    }
    bool known = false;
    for (const auto& [spelled, role] : kSpecialSpellings) {
      if (words[i] != spelled) continue;
      specials.*role = id;
      known = true;
    }
    if (!known) {
      return ids_only(
          vocab_size, specials,
          fmt::format("{} has words and no {} beside it: token ids only", file, kMerges));
    }
  }
  try {
    auto made = std::make_shared<CharTokenizer>(characters, specials, first.value_or(0));
    if (made->vocab_size() == vocab_size) return {std::move(made), ""};
    return ids_only(vocab_size, specials,
                    fmt::format("{} has {} tokens, the model {}: token ids only", file,
                                words.size(), vocab_size));
  } catch (const DataError& error) {
    return ids_only(vocab_size, specials,
                    fmt::format("{}: {}: token ids only", file, error.what()));
  }
}

}  // namespace

HfTokenizer read_hf_tokenizer(const std::string& folder, Index vocab_size,
                              const SpecialTokens& specials, Index max_bytes) {
  for (const auto& [vocabulary, merges] :
       {std::pair(kVocabulary, kMerges), std::pair("encoder.json", "vocab.bpe")}) {
    if (has(folder, vocabulary) && has(folder, merges)) {
      return {read_bpe(folder, vocabulary, merges, vocab_size, specials, max_bytes), ""};
    }
  }
  if (has(folder, kVocabulary)) {
    const ByteSource file = open_in_folder(folder, kVocabulary, max_bytes);
    return of_characters(file.name(), words_of(file, vocab_size), specials, vocab_size);
  }
  for (const char* other : {"tokenizer.json", "tokenizer.model"}) {
    if (has(folder, other)) {
      return ids_only(vocab_size, specials, fmt::format("{} is not read: token ids only", other));
    }
  }
  return ids_only(vocab_size, specials, "");
}

bool adds_bos(const std::string& folder, Index max_bytes) {
  if (!has(folder, kTokenizerConfig)) return false;
  const ByteSource file = open_in_folder(folder, kTokenizerConfig, max_bytes);
  const nlohmann::json object = parse_json_object(as_text(file.bytes()), file.name());
  const auto found = object.find("add_bos_token");
  return found != object.end() && *found == true;
}

std::map<std::string, std::string> hf_tokenizer_files(const Tokenizer& tokenizer) {
  const TokenizerData data = tokenizer.data();
  std::map<std::string, std::string> files;
  if (data.specials.bos) files[kTokenizerConfig] = "{\"add_bos_token\": true}\n";
  if (data.kind == "gpt2") {  // keeps the files as it read them, under these names
    for (const auto& [name, bytes] : data.datasets) {
      files.emplace(name, std::string(bytes.begin(), bytes.end()));
    }
  } else if (data.kind == "characters") {
    nlohmann::ordered_json words;
    for (Index id = 0; id < tokenizer.vocab_size(); ++id) {
      words[tokenizer.is_text(id) ? tokenizer.decode({&id, 1}) : special_label(data.specials, id)] =
          id;
    }
    files[kVocabulary] = words.dump() + "\n";
  }
  return files;
}

}  // namespace attn
