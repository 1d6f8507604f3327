#pragma once

#include "text/tokenizer.h"

namespace attn {

/// Tokens that are numbers: text is ids separated by blanks or commas, "3 5 7". A special token is
/// a number among them.
class IdTokenizer : public Tokenizer {
 public:
  /// Throws DataError for a vocabulary of none and a special token outside it.
  explicit IdTokenizer(Index vocab_size, const SpecialTokens& specials = {});

  Index vocab_size() const override { return vocab_size_; }
  std::string decode(std::span<const Index> ids) const override;
  std::string label(Index id) const override;
  bool is_text(Index) const override { return true; }
  SpecialTokens specials() const override { return specials_; }
  TokenizerData data() const override;

 protected:
  void encode_from(std::string_view text, std::size_t first,
                   std::vector<Index>& ids) const override;

 private:
  Index vocab_size_;
  SpecialTokens specials_;
};

}  // namespace attn
