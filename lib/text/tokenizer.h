#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/index.h"

namespace attn {

/// A tokenizer as a checkpoint stores it: its kind, and its tables as named runs of bytes.
struct TokenizerData {
  std::string kind;  // "characters", "ids"
  Index vocab_size = 0;
  std::map<std::string, std::vector<std::uint8_t>> datasets;
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
  virtual TokenizerData data() const = 0;
};

/// The tokenizer that data() was taken from. Throws DataError for an unknown kind, a damaged table,
/// or a vocabulary of another size than stated.
std::shared_ptr<const Tokenizer> make_tokenizer(const TokenizerData& data);

}  // namespace attn
