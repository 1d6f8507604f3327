#include "text/word_tokenizer.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

// Calls found(word, offset) for each word of text from byte `first` on.
template <class Found>
void for_each_word(std::string_view text, std::size_t first, const Found& found) {
  for (std::size_t at = text.find_first_not_of(kBlanks, first); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    found(text.substr(at, end - at), at);
    at = text.find_first_not_of(kBlanks, end);
  }
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) return false;
    at += length;
  }
  return true;
}

bool is_special(std::string_view word) {
  return std::any_of(kSpecialSpellings.begin(), kSpecialSpellings.end(),
                     [&](const SpecialSpelling& special) { return word == special.spelled; });
}

}  // namespace

WordTokenizer::WordTokenizer(std::string_view vocabulary, const SpecialTokens& more)
    : specials_(more) {
  for_each_word(vocabulary, 0, [&](std::string_view word, std::size_t) {
    if (!is_utf8(word)) {
      throw DataError(fmt::format("tokenizer: the word '{}' of the vocabulary is invalid UTF-8",
                                  escaped(word)));
    }
    if (!ids_.emplace(word, vocab_size()).second) {
      throw DataError(
          fmt::format("tokenizer: the vocabulary has the word '{}' twice", escaped(word)));
    }
    words_.emplace_back(word);
  });
  if (words_.empty()) throw DataError("tokenizer: the vocabulary is empty");
  for (const auto& [spelled, role] : kSpecialSpellings) {
    std::optional<Index>& id = specials_.*role;
    const auto found = ids_.find(spelled);
    if (!id && found != ids_.end()) id = found->second;
    if (id && (*id < 0 || *id >= vocab_size())) {
      throw DataError(fmt::format("tokenizer: {} has the id {}, the vocabulary {} words", spelled,
                                  *id, vocab_size()));
    }
  }
}

void WordTokenizer::encode_from(std::string_view text, std::size_t first,
                                std::vector<Index>& ids) const {
  for_each_word(text, first, [&](std::string_view word, std::size_t at) {
    const auto found = ids_.find(std::string(word));
    if (found == ids_.end()) {
      throw UsageError(
          fmt::format("word '{}' at byte {} is not in the vocabulary", escaped(word), at));
    }
    ids.push_back(found->second);
  });
}

std::string WordTokenizer::decode(std::span<const Index> ids) const {
  std::string text;
  for (const Index id : ids) {
    require_id(id);
    if (!is_text(id)) continue;
    if (!text.empty()) text += ' ';
    text += words_[static_cast<std::size_t>(id)];
  }
  return text;
}

std::string WordTokenizer::label(Index id) const {
  require_id(id);
  return escaped(words_[static_cast<std::size_t>(id)]);
}

bool WordTokenizer::is_text(Index id) const {
  return !is_special(words_[static_cast<std::size_t>(id)]);
}

TokenizerData WordTokenizer::data() const {
  TokenizerData data{"words", vocab_size(), {}, specials_};
  std::vector<std::uint8_t>& bytes = data.datasets["vocabulary"];
  for (const std::string& word : words_) {
    if (!bytes.empty()) bytes.push_back(' ');
    for (const char byte : word) bytes.push_back(static_cast<std::uint8_t>(byte));
  }
  return data;
}

}  // namespace attn
