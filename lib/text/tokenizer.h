#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/index.h"

namespace attn {

/// Tokens that are not text: where a sequence begins and ends, what fills a shorter one up, and
/// what hides a token that is to be guessed. One id may have two of these roles.
struct SpecialTokens {
  std::optional<Index> bos, eos, pad, mask;

  bool operator==(const SpecialTokens&) const = default;
};

/// A tokenizer as a checkpoint stores it: its kind, its special tokens (attributes of /tokenizer),
/// and its tables as named runs of bytes.
struct TokenizerData {
  std::string kind;  // "characters", "ids"
  Index vocab_size = 0;
  std::map<std::string, std::vector<std::uint8_t>> datasets;
  SpecialTokens specials = {};
};

/// Text to token ids and back.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual Index vocab_size() const = 0;
  /// Throws UsageError that names what is not in the vocabulary and where it stands.
  virtual std::vector<Index> encode(std::string_view text) const = 0;
  /// Throws ShapeError for an id outside 0 .. vocab_size() - 1.
  virtual std::string decode(std::span<const Index> ids) const = 0;
  /// What stands for one token in a table or beside a map: printable.
  virtual std::string label(Index id) const = 0;
  virtual SpecialTokens specials() const { return {}; }
  virtual TokenizerData data() const = 0;
};

/// The tokenizer that data() was taken from. Throws DataError for an unknown kind, a damaged table,
/// or a vocabulary of another size than stated.
std::shared_ptr<const Tokenizer> make_tokenizer(const TokenizerData& data);

}  // namespace attn
