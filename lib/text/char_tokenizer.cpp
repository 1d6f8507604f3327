#include "text/char_tokenizer.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"

namespace attn {

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

CharTokenizer::CharTokenizer(std::string_view vocabulary, const SpecialTokens& specials,
                             Index first)
    : specials_(specials), first_(first) {
  require_shape(first >= 0 && first <= std::numeric_limits<std::uint8_t>::max(),
                "tokenizer: ids before the characters outside 0 .. 255");
  ascii_.fill(-1);
  for (std::size_t at = 0; at < vocabulary.size();) {
    const std::size_t length = utf8_length(vocabulary.substr(at));
    if (length == 0) {
      throw DataError(fmt::format("tokenizer: invalid UTF-8 in the vocabulary at byte {}", at));
    }
    const std::uint32_t code = code_point(vocabulary.substr(at, length));
    if (!codes_.empty() && code <= codes_.back()) {
      throw DataError(fmt::format(
          "tokenizer: the vocabulary is not in order, or has a character twice, at byte {}", at));
    }
    if (code < ascii_.size()) ascii_[code] = first_ + static_cast<Index>(codes_.size());
    codes_.push_back(code);
    at += length;
  }
  if (codes_.empty()) throw DataError("tokenizer: the vocabulary is empty");
  vocab_size_ = vocabulary_size(specials_, first_, static_cast<Index>(codes_.size()));
}

Index CharTokenizer::id(std::uint32_t code) const {
  if (code < ascii_.size()) return ascii_[code];
  const auto found = std::lower_bound(codes_.begin(), codes_.end(), code);
  return found == codes_.end() || *found != code ? -1 : first_ + (found - codes_.begin());
}

bool CharTokenizer::is_text(Index id) const {
  return id >= first_ && id < first_ + static_cast<Index>(codes_.size());
}

std::string CharTokenizer::character(Index id) const {
  return utf8_character(codes_[static_cast<std::size_t>(id - first_)]);
}

void CharTokenizer::encode_from(std::string_view text, std::size_t first,
                                std::vector<Index>& ids) const {
  ids.reserve(ids.size() + text.size() - first);
  for (std::size_t at = first; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) {
      throw UsageError(fmt::format("invalid UTF-8 at byte {} (0x{:02x})", at,
                                   static_cast<unsigned char>(text[at])));
    }
    const std::string_view character = text.substr(at, length);
    const Index found = id(code_point(character));
    if (found < 0) {
      throw UsageError(
          fmt::format("{} at byte {} is not in the vocabulary", character_name(character), at));
    }
    ids.push_back(found);
    at += length;
  }
}

std::string CharTokenizer::decode(std::span<const Index> ids) const {
  std::string text;
  for (const Index id : ids) {
    require_id(id);
    if (is_text(id)) text += character(id);
  }
  return text;
}

std::string CharTokenizer::label(Index id) const {
  require_id(id);
  if (!is_text(id)) return special_label(specials_, id);
  const std::string shown = character(id);
  if (shown == "\n") return "\\n";
  if (shown == "\t") return "\\t";
  return escaped(shown);
}

TokenizerData CharTokenizer::data() const {
  TokenizerData data{"characters", vocab_size_, {}, specials_};
  std::vector<std::uint8_t>& bytes = data.datasets["vocabulary"];
  for (const std::uint32_t code : codes_) {
    for (const char byte : utf8_character(code)) bytes.push_back(static_cast<std::uint8_t>(byte));
  }
  if (first_ > 0) data.datasets["ids_before"] = {static_cast<std::uint8_t>(first_)};
  return data;
}

}  // namespace attn
