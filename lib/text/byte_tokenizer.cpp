#include "text/byte_tokenizer.h"

#include "core/text.h"

namespace attn {

ByteTokenizer::ByteTokenizer(const SpecialTokens& specials)
    : specials_(specials), vocab_size_(vocabulary_size(specials, 0, kBytes)) {}

void ByteTokenizer::encode_from(std::string_view text, std::size_t first,
                                std::vector<Index>& ids) const {
  ids.reserve(ids.size() + text.size() - first);
  for (const char byte : text.substr(first)) ids.push_back(static_cast<unsigned char>(byte));
}

std::string ByteTokenizer::decode(std::span<const Index> ids) const {
  std::string text;
  for (const Index id : ids) {
    require_id(id);
    if (is_text(id)) text += static_cast<char>(static_cast<unsigned char>(id));
  }
  return text;
}

std::string ByteTokenizer::label(Index id) const {
  require_id(id);
  if (!is_text(id)) return special_label(specials_, id);
  if (id == '\n') return "\\n";
  if (id == '\t') return "\\t";
  return escaped(std::string(1, static_cast<char>(static_cast<unsigned char>(id))));
}

TokenizerData ByteTokenizer::data() const {
  return {"bytes", vocab_size_, {}, specials_};
}

}  // namespace attn
