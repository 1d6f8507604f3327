#pragma once

#include <unordered_map>

#include "text/tokenizer.h"

namespace attn {

/// One token per word of a small vocabulary; in a text, words stand between blanks. The words
/// "<bos>", "<eos>", "<pad>" and "<mask>" are special tokens and no text.
class WordTokenizer : public Tokenizer {
 public:
  /// The words in order of their ids, blanks between them. Special tokens are found by their
  /// spelling; `more` gives roles besides (a pad that is the end). Throws DataError for a word that
  /// comes twice, invalid UTF-8, no word at all, and a role outside the vocabulary.
  explicit WordTokenizer(std::string_view vocabulary, const SpecialTokens& more = {});

  Index vocab_size() const override { return static_cast<Index>(words_.size()); }
  /// The words with a blank between two.
  std::string decode(std::span<const Index> ids) const override;
  std::string label(Index id) const override;
  bool is_text(Index id) const override;
  SpecialTokens specials() const override { return specials_; }
  TokenizerData data() const override;

 protected:
  void encode_from(std::string_view text, std::size_t first,
                   std::vector<Index>& ids) const override;

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string, Index> ids_;
  SpecialTokens specials_;
};

}  // namespace attn
