#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace attn {

/// The text that each token of a sequence adds, so that all of them together are
/// tokenizer.decode(all): also where words or ids stand apart by blanks.
class TokenPieces {
 public:
  explicit TokenPieces(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// The bytes that this token adds; none for a special token.
  std::string add(Index id);

 private:
  const Tokenizer& tokenizer_;
  std::optional<Index> last_;  // that was text
};

/// Lets text pass up to the first place where one of some strings begins, wherever the pieces are
/// cut: what may be the beginning of one is held back until it is clear.
class StopText {
 public:
  /// Throws UsageError for an empty string.
  explicit StopText(std::vector<std::string> stops);

  /// The text that may pass now. After a stop was found: none.
  std::string add(std::string_view piece);
  /// What was held back and is no stop after all.
  std::string finish();
  /// Whether one was found.
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

/// Lets bytes pass as whole UTF-8 characters: those of an incomplete one are held back until it is
/// whole. What can be none becomes U+FFFD, one for each longest beginning of a character, as the
/// Unicode standard recommends (section 3.9).
class Utf8Text {
 public:
  std::string add(std::string_view bytes);
  /// U+FFFD for a character that was begun and never ended.
  std::string finish();

 private:
  std::string held_;
};

/// The text of tokens as a person reads it: pieces, up to a stop, in whole characters.
class SpokenText {
 public:
  SpokenText(const Tokenizer& tokenizer, std::vector<std::string> stops)
      : pieces_(tokenizer), stop_(std::move(stops)) {}

  /// A token of the prompt, in which no stop is looked for.
  std::string echo(Index id) { return utf8_.add(pieces_.add(id)); }
  /// What this token lets pass.
  std::string add(Index id) { return utf8_.add(stop_.add(pieces_.add(id))); }
  /// What is left at the end.
  std::string finish() {
    std::string text = utf8_.add(stop_.finish());
    return text += utf8_.finish();
  }
  bool stopped() const { return stop_.stopped(); }

 private:
  TokenPieces pieces_;
  StopText stop_;
  Utf8Text utf8_;
};

}  // namespace attn
