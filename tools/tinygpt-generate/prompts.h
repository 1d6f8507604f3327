#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/session.h"
#include "model/beam.h"
#include "model/checkpoint.h"
#include "model/decoding.h"
#include "model/filling.h"

namespace attn {

/// What a model reads and what it writes.
struct Language {
  Arch arch = Arch::kDecoder;
  std::shared_ptr<const Tokenizer> written;
  std::shared_ptr<const Tokenizer> read;  // of prompts: an encoder-decoder's source may differ
  SpecialTokens specials;                 // the tokenizer's, or those given instead
};

/// A checkpoint without a tokenizer speaks in ids. Throws UsageError for a given id outside the
/// vocabulary, and where the arrangement needs a special token that nobody names.
Language language_of(const Checkpoint& checkpoint, const SpecialTokens& given);

/// False where the tokens are bare numbers.
bool tokens_are_text(const Tokenizer& tokenizer);

/// A text, which messages call `where`, without the characters that the tokenizer does not know; a
/// note says how many those were. Throws UsageError for a tokenizer that does not read characters.
std::string known_part(const std::string& text, const std::string& where,
                       const Tokenizer& tokenizer, const cli::Session& session);

/// A prompt and what the model made of it.
struct Sequence {
  std::string where;  // as messages call it
  std::string prompt;
  /// What the model reads: what a decoder continues, an encoder-decoder's source, or an encoder's
  /// text with its masks.
  std::vector<Index> ids;
  bool bos_added = false;           // before what was typed
  std::vector<Generation> samples;  // of a decoder and an encoder-decoder
  BeamResult beams;                 // or this
  std::vector<std::string> texts;   // of each sample or hypothesis, up to a stop
  Filling filled;                   // of an encoder
};

/// Where prompts come from.
struct PromptSource {
  std::optional<std::string> text;
  std::string file;  // one prompt a line, where there is no text
  Index max_bytes = 0;
  bool skip_unknown = false;  // characters outside the vocabulary are left out
};

/// Throws UsageError (a prompt typed is the user's to mend) or DataError (a line of a file, its
/// maker's) for what is not in the vocabulary, for invalid UTF-8, for no token at all, and for a
/// text to fill in without a mask.
std::vector<Sequence> read_prompts(const PromptSource& source, const Language& language,
                                   const cli::Session& session);

}  // namespace attn
