#include "text/char_tokenizer.h"

#include <fmt/core.h>

#include <set>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

// The code point of one valid UTF-8 character.
std::uint32_t code_point(std::string_view character) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(character[i]));
  };
  if (character.size() == 1) return byte(0);
  std::uint32_t code = byte(0) & (0xffU >> (character.size() + 1));
  for (std::size_t i = 1; i < character.size(); ++i) code = (code << 6) | (byte(i) & 0x3fU);
  return code;
}

}  // namespace

std::shared_ptr<const CharTokenizer> CharTokenizer::from_text(std::string_view text,
                                                              const std::string& name) {
  if (text.empty()) throw DataError(fmt::format("{}: the text is empty", escaped(name)));
  std::set<std::string_view> seen;  // in order of bytes, which is the order of code points
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) {
      throw DataError(fmt::format("{}: invalid UTF-8 at byte {} (0x{:02x})", escaped(name), at,
                                  static_cast<unsigned char>(text[at])));
    }
    seen.insert(text.substr(at, length));
    at += length;
  }
  std::string vocabulary;
  for (const std::string_view character : seen) vocabulary += character;
  return std::make_shared<CharTokenizer>(vocabulary);
}

CharTokenizer::CharTokenizer(std::string_view vocabulary) {
  for (std::size_t at = 0; at < vocabulary.size();) {
    const std::size_t length = utf8_length(vocabulary.substr(at));
    if (length == 0) {
      throw DataError(fmt::format("tokenizer: invalid UTF-8 in the vocabulary at byte {}", at));
    }
    std::string character(vocabulary.substr(at, length));
    if (!characters_.empty() && character <= characters_.back()) {
      throw DataError(fmt::format(
          "tokenizer: the vocabulary is not in order, or has a character twice, at byte {}", at));
    }
    ids_.emplace(character, static_cast<Index>(characters_.size()));
    characters_.push_back(std::move(character));
    at += length;
  }
  if (characters_.empty()) throw DataError("tokenizer: the vocabulary is empty");
}

std::vector<Index> CharTokenizer::encode(std::string_view text) const {
  std::vector<Index> ids;
  ids.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) {
      throw UsageError(fmt::format("invalid UTF-8 at byte {} (0x{:02x})", at,
                                   static_cast<unsigned char>(text[at])));
    }
    const std::string character(text.substr(at, length));
    const auto found = ids_.find(character);
    if (found == ids_.end()) {
      throw UsageError(fmt::format("character '{}' (U+{:04X}) at byte {} is not in the vocabulary",
                                   escaped(character), code_point(character), at));
    }
    ids.push_back(found->second);
    at += length;
  }
  return ids;
}

std::string CharTokenizer::decode(std::span<const Index> ids) const {
  std::string text;
  for (const Index id : ids) {
    require_shape(id >= 0 && id < vocab_size(), "tokenizer: an id outside the vocabulary");
    text += characters_[static_cast<std::size_t>(id)];
  }
  return text;
}

std::string CharTokenizer::label(Index id) const {
  const std::string character = decode(std::span<const Index>(&id, 1));
  if (character == "\n") return "\\n";
  if (character == "\t") return "\\t";
  return escaped(character);
}

TokenizerData CharTokenizer::data() const {
  TokenizerData data{"characters", vocab_size(), {}};
  std::vector<std::uint8_t>& bytes = data.datasets["vocabulary"];
  for (const std::string& character : characters_) {
    for (const char byte : character) bytes.push_back(static_cast<std::uint8_t>(byte));
  }
  return data;
}

}  // namespace attn
