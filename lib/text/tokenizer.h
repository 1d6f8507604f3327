#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/index.h"
#include "text/special_tokens.h"

namespace attn {

/// A tokenizer as a checkpoint stores it: its kind, its special tokens (attributes of /tokenizer),
/// and its tables as named runs of bytes.
struct TokenizerData {
  std::string kind;  // "bytes", "characters", "gpt2", "ids", "words"
  Index vocab_size = 0;
  std::map<std::string, std::vector<std::uint8_t>> datasets;
  SpecialTokens specials = {};
};

/// Text to token ids and back.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual Index vocab_size() const = 0;

  /// The tokens of a text. "<mask>" in it is six characters (but a word, where tokens are words).
  /// Throws UsageError that names what is not in the vocabulary and where it stands, in bytes.
  std::vector<Index> encode(std::string_view text) const;
  /// The same for what a person types: a special token that is no text may be spelled, "<mask>".
  std::vector<Index> encode_with_specials(std::string_view text) const;

  /// The text of tokens; those that are no text are left out. Throws ShapeError for an id outside
  /// 0 .. vocab_size() - 1.
  virtual std::string decode(std::span<const Index> ids) const = 0;
  /// What stands for one token in a table or beside a map: printable; a special token as it is
  /// spelled.
  virtual std::string label(Index id) const = 0;
  /// False for a special token that stands for no text.
  virtual bool is_text(Index id) const;

  virtual SpecialTokens specials() const { return {}; }
  virtual TokenizerData data() const = 0;

 protected:
  /// Appends the tokens of `text` from byte `first` to its end; messages count bytes from its
  /// beginning.
  virtual void encode_from(std::string_view text, std::size_t first,
                           std::vector<Index>& ids) const = 0;
  /// Special tokens that are no text, as a person spells them.
  virtual std::vector<std::pair<std::string, Index>> spelled() const;
  void require_id(Index id) const;
};

/// The tokenizer that data() was taken from. Throws DataError for an unknown kind, a damaged table,
/// a special token outside the vocabulary, or a vocabulary of another size than stated.
std::shared_ptr<const Tokenizer> make_tokenizer(const TokenizerData& data);

}  // namespace attn
