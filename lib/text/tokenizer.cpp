#include "text/tokenizer.h"

#include <fmt/core.h>

#include "core/error.h"
#include "core/text.h"
#include "text/byte_tokenizer.h"
#include "text/char_tokenizer.h"
#include "text/gpt2_tokenizer.h"
#include "text/id_tokenizer.h"
#include "text/word_tokenizer.h"

namespace attn {
namespace {

std::string_view table(const TokenizerData& data, const std::string& name) {
  const auto found = data.datasets.find(name);
  if (found == data.datasets.end()) {
    throw DataError(
        fmt::format("tokenizer: the {} of kind '{}' is missing", name, escaped(data.kind)));
  }
  return as_text(std::as_bytes(std::span(found->second)));
}

std::shared_ptr<const Tokenizer> of_kind(const TokenizerData& data) {
  if (data.kind == "ids") return std::make_shared<IdTokenizer>(data.vocab_size, data.specials);
  if (data.kind == "bytes") return std::make_shared<ByteTokenizer>(data.specials);
  if (data.kind == "words") {
    return std::make_shared<WordTokenizer>(table(data, "vocabulary"), data.specials);
  }
  if (data.kind == "gpt2") {
    return std::make_shared<Gpt2Tokenizer>(table(data, "vocab.json"), table(data, "merges.txt"),
                                           data.specials, data.vocab_size);
  }
  if (data.kind == "characters") {
    // Ids before the first character, where there are any.
    const std::string_view before =
        data.datasets.count("ids_before") == 0 ? "" : table(data, "ids_before");
    if (before.size() > 1) {
      throw DataError(fmt::format("tokenizer: ids_before wants 1 byte, got {}", before.size()));
    }
    const Index first = before.empty() ? 0 : static_cast<unsigned char>(before[0]);
    return std::make_shared<CharTokenizer>(table(data, "vocabulary"), data.specials, first);
  }
  throw DataError(
      fmt::format("tokenizer: kind '{}' is not known (bytes, characters, gpt2, ids, words)",
                  escaped(data.kind)));
}

}  // namespace

std::vector<Index> Tokenizer::encode(std::string_view text) const {
  std::vector<Index> ids;
  encode_from(text, 0, ids);
  return ids;
}

std::vector<Index> Tokenizer::encode_with_specials(std::string_view text) const {
  const std::vector<std::pair<std::string, Index>> specials = spelled();
  std::vector<Index> ids;
  std::size_t done = 0;
  for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at + 1)) {
    if (at < done) continue;
    for (const auto& [word, id] : specials) {
      if (!text.substr(at).starts_with(word)) continue;
      encode_from(text.substr(0, at), done, ids);
      ids.push_back(id);
      done = at + word.size();
      break;
    }
  }
  encode_from(text, done, ids);
  return ids;
}

std::vector<std::pair<std::string, Index>> Tokenizer::spelled() const {
  const SpecialTokens roles = specials();
  std::vector<std::pair<std::string, Index>> all;
  for (const auto& [word, role] : kSpecialSpellings) {
    const std::optional<Index>& id = roles.*role;
    if (id && !is_text(*id)) all.emplace_back(word, *id);
  }
  return all;
}

bool Tokenizer::is_text(Index id) const {
  return special_label(specials(), id).empty();
}

void Tokenizer::require_id(Index id) const {
  require_shape(id >= 0 && id < vocab_size(), "tokenizer: an id outside the vocabulary");
}

std::shared_ptr<const Tokenizer> make_tokenizer(const TokenizerData& data) {
  std::shared_ptr<const Tokenizer> made = of_kind(data);
  if (made->vocab_size() != data.vocab_size) {
    throw DataError(fmt::format("tokenizer: its table holds {} tokens, stated are {}",
                                made->vocab_size(), data.vocab_size));
  }
  return made;
}

}  // namespace attn
