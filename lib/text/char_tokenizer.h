#pragma once

#include <array>

#include "text/tokenizer.h"

namespace attn {

/// One token per Unicode character. Characters' ids follow the order of code points; special tokens
/// that are no characters have ids before or after all of them.
class CharTokenizer : public Tokenizer {
 public:
  /// The characters of a text, which `name` calls in messages. Throws DataError for invalid UTF-8
  /// (with the byte's offset) and for an empty text.
  static std::shared_ptr<const CharTokenizer> from_text(std::string_view text,
                                                        const std::string& name);
  /// From distinct characters in order of code points; the first has the id `first`. Throws
  /// DataError for what is no such vocabulary, and where an id is neither character nor special.
  explicit CharTokenizer(std::string_view vocabulary, const SpecialTokens& specials = {},
                         Index first = 0);

  Index vocab_size() const override { return vocab_size_; }
  std::string decode(std::span<const Index> ids) const override;
  std::string label(Index id) const override;
  bool is_text(Index id) const override;
  SpecialTokens specials() const override { return specials_; }
  TokenizerData data() const override;

  /// The id of a code point; -1 where it is not in the vocabulary.
  Index id(std::uint32_t code) const;

 protected:
  void encode_from(std::string_view text, std::size_t first,
                   std::vector<Index>& ids) const override;

 private:
  std::string character(Index id) const;

  std::vector<std::uint32_t> codes_;  // in order
  std::array<Index, 128> ascii_;      // the ids of those below 128, looked up far more often
  SpecialTokens specials_;
  Index first_;
  Index vocab_size_ = 0;
};

}  // namespace attn
