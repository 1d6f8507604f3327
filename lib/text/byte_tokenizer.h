#pragma once

#include "text/tokenizer.h"

namespace attn {

/// One token per byte, of any input whatever. Special tokens follow from id 256 on.
class ByteTokenizer : public Tokenizer {
 public:
  static constexpr Index kBytes = 256;

  explicit ByteTokenizer(const SpecialTokens& specials = {});

  Index vocab_size() const override { return vocab_size_; }
  std::string decode(std::span<const Index> ids) const override;
  /// The byte itself where it is printable ASCII, else \n, \t or \xNN.
  std::string label(Index id) const override;
  bool is_text(Index id) const override { return id < kBytes; }
  SpecialTokens specials() const override { return specials_; }
  TokenizerData data() const override;

 protected:
  void encode_from(std::string_view text, std::size_t first,
                   std::vector<Index>& ids) const override;

 private:
  SpecialTokens specials_;
  Index vocab_size_;
};

}  // namespace attn
