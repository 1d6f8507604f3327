#include "train/text_vocabulary.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "model/gpt2_files.h"
#include "text/byte_tokenizer.h"
#include "text/char_tokenizer.h"

namespace attn {
namespace {

// Carriage returns that are parts of line ends, which no line holds.
Index ending_returns(const TextScan& scan) {
  Index found = 0;
  for (const TextScan::File& file : scan.files) {
    const std::string_view text = as_text(file.source->bytes());
    for (std::size_t at = text.find('\r'); at < text.size(); at = text.find('\r', at + 1)) {
      if (at + 1 == text.size() || text[at + 1] == '\n') ++found;
    }
  }
  return found;
}

// What occurs in the lines: the same whichever way they end.
std::string line_vocabulary(const TextScan& scan) {
  std::string vocabulary = scan.vocabulary();
  const auto returns = scan.counts.find('\r');
  if (returns != scan.counts.end() && returns->second == ending_returns(scan)) {
    std::erase(vocabulary, '\r');
  }
  return vocabulary;
}

// Line ends and tabs have one id each, whether or not they occurred.
std::string with_character(std::string vocabulary, char wanted) {
  const auto place = std::lower_bound(
      vocabulary.begin(), vocabulary.end(), wanted,
      [](char a, char b) { return static_cast<unsigned char>(a) < static_cast<unsigned char>(b); });
  if (place == vocabulary.end() || *place != wanted) vocabulary.insert(place, wanted);
  return vocabulary;
}

SpecialTokens ends(Index bos, Index eos) {
  SpecialTokens specials;
  specials.bos = bos;
  specials.eos = eos;
  specials.pad = eos;
  return specials;
}

std::shared_ptr<const Tokenizer> byte_tokenizer(TextUse use) {
  SpecialTokens specials;
  if (use == TextUse::kMasked) specials.mask = ByteTokenizer::kBytes;
  if (use == TextUse::kLines) specials = ends('\n', '\n');
  if (use == TextUse::kTwoStackPairs) {
    specials = ends(ByteTokenizer::kBytes, ByteTokenizer::kBytes + 1);
  }
  if (use == TextUse::kOneStackPairs) specials.eos = specials.pad = Index{'\n'};
  return std::make_shared<ByteTokenizer>(specials);
}

std::shared_ptr<const Tokenizer> char_tokenizer(const TextScan& scan, TextUse use) {
  const bool by_lines = use != TextUse::kWindows && use != TextUse::kMasked;
  std::string vocabulary = by_lines ? line_vocabulary(scan) : scan.vocabulary();
  SpecialTokens specials;
  if (use == TextUse::kMasked) specials.mask = static_cast<Index>(scan.counts.size());
  if (use == TextUse::kTwoStackPairs) {
    return std::make_shared<CharTokenizer>(vocabulary, ends(0, 1), 2);
  }
  if (use == TextUse::kLines || use == TextUse::kOneStackPairs) {
    vocabulary = with_character(vocabulary, '\n');
    if (use == TextUse::kOneStackPairs) vocabulary = with_character(vocabulary, '\t');
    const Index line_end = CharTokenizer(vocabulary).id('\n');
    specials = ends(line_end, line_end);
    if (use == TextUse::kOneStackPairs) specials.bos.reset();
  }
  return std::make_shared<CharTokenizer>(vocabulary, specials);
}

}  // namespace

TextUnit parse_text_unit(const std::string& name) {
  if (name == "characters") return TextUnit::kCharacters;
  if (name == "bytes" || name == "gpt2") return TextUnit::kBytes;
  throw UsageError(
      fmt::format("--tokenizer must be characters, bytes or gpt2: got '{}'", escaped(name)));
}

std::shared_ptr<const Tokenizer> make_text_tokenizer(const TextScan& scan, TextUse use) {
  return scan.unit == TextUnit::kBytes ? byte_tokenizer(use) : char_tokenizer(scan, use);
}

std::shared_ptr<const Tokenizer> make_gpt2_tokenizer(const std::string& folder, TextUse use) {
  if (folder.empty()) {
    throw UsageError("--tokenizer gpt2 needs --vocab FOLDER",
                     {"the folder holds vocab.json and merges.txt, or encoder.json and vocab.bpe"});
  }
  const std::shared_ptr<const Gpt2Tokenizer> plain = read_gpt2_tokenizer(folder);
  if (use == TextUse::kWindows) return plain;
  SpecialTokens roles;
  const Index one_more = plain->vocab_size();
  if (use == TextUse::kMasked) {
    roles.mask = one_more;
  } else {
    const Index end = plain->specials().eos.value_or(one_more);
    roles = ends(end, end);
    if (use == TextUse::kOneStackPairs) roles.bos.reset();
  }
  return plain->with_roles(roles);
}

void require_roles(const Tokenizer& tokenizer, TextUse use) {
  const SpecialTokens specials = tokenizer.specials();
  const auto require = [](const std::optional<Index>& role, const char* what) {
    if (!role) throw UsageError(fmt::format("the model's tokenizer has no {}", what));
  };
  if (use == TextUse::kMasked) require(specials.mask, "mask: it was trained for another task");
  if (use == TextUse::kLines || use == TextUse::kTwoStackPairs) {
    require(specials.bos, "token for a beginning: it was trained for another task");
  }
  if (use != TextUse::kMasked && use != TextUse::kWindows) {
    require(specials.eos, "token for an end: it was trained for another task");
  }
}

}  // namespace attn
