#include "text/id_tokenizer.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "core/error.h"
#include "core/text.h"

namespace attn {

IdTokenizer::IdTokenizer(Index vocab_size, const SpecialTokens& specials)
    : vocab_size_(vocab_size), specials_(specials) {
  if (vocab_size < 1) {
    throw DataError(fmt::format("tokenizer: wanted at least 1 token, got {}", vocab_size));
  }
  if (vocabulary_size(specials, 0, vocab_size) != vocab_size) {
    throw DataError(fmt::format("tokenizer: a special token is not among {} ids", vocab_size));
  }
}

void IdTokenizer::encode_from(std::string_view text, std::size_t first,
                              std::vector<Index>& ids) const {
  constexpr std::string_view kBlanks = " \t\r\n,";
  for (std::size_t at = text.find_first_not_of(kBlanks, first); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    Index id = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error == std::errc::invalid_argument || stop != word.data() + word.size()) {
      throw UsageError(fmt::format("'{}' at byte {} is not a token id", escaped(word), at));
    }
    if (error == std::errc::result_out_of_range || id < 0 || id >= vocab_size_) {
      throw UsageError(fmt::format("token id {} at byte {} is not in the vocabulary: 0 to {}",
                                   escaped(word), at, vocab_size_ - 1));
    }
    ids.push_back(id);
    at = text.find_first_not_of(kBlanks, end);
  }
}

std::string IdTokenizer::decode(std::span<const Index> ids) const {
  std::string text;
  for (const Index id : ids) {
    require_id(id);
    text += fmt::format("{}{}", text.empty() ? "" : " ", id);
  }
  return text;
}

std::string IdTokenizer::label(Index id) const {
  return fmt::format("{}", id);
}

TokenizerData IdTokenizer::data() const {
  return {"ids", vocab_size_, {}, specials_};
}

}  // namespace attn
