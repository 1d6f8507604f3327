#pragma once

#include <unordered_map>

#include "text/tokenizer.h"

namespace attn {

/// One token per Unicode character. Ids follow the order of code points.
class CharTokenizer : public Tokenizer {
 public:
  /// The characters of a text, which `name` calls in messages. Throws DataError for invalid UTF-8
  /// (with the byte's offset) and for an empty text.
  static std::shared_ptr<const CharTokenizer> from_text(std::string_view text,
                                                        const std::string& name);
  /// From the vocabulary alone: distinct characters in order of code points.
  explicit CharTokenizer(std::string_view vocabulary);

  Index vocab_size() const override { return static_cast<Index>(characters_.size()); }
  std::vector<Index> encode(std::string_view text) const override;
  std::string decode(std::span<const Index> ids) const override;
  std::string label(Index id) const override;
  TokenizerData data() const override;

 private:
  std::vector<std::string> characters_;
  std::unordered_map<std::string, Index> ids_;
};

}  // namespace attn
