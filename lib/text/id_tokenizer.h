#pragma once

#include "text/tokenizer.h"

namespace attn {

/// Tokens that are numbers: text is ids separated by blanks or commas, "3 5 7".
class IdTokenizer : public Tokenizer {
 public:
  explicit IdTokenizer(Index vocab_size) : vocab_size_(vocab_size) {}

  Index vocab_size() const override { return vocab_size_; }
  std::vector<Index> encode(std::string_view text) const override;
  std::string decode(std::span<const Index> ids) const override;
  std::string label(Index id) const override;
  TokenizerData data() const override;

 private:
  Index vocab_size_;
};

}  // namespace attn
