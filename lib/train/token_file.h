#pragma once

#include "io/hdf5_writer.h"
#include "train/task.h"

namespace attn {

/// A text as token ids, as FileTokens reads them.
struct TokenFile {
  std::shared_ptr<const Tokenizer> tokenizer;
  Tensor<std::int32_t> tokens;  // (tokens): a stream; or (lines, longest), each row ended by -1s
  Index count = 0;              // tokens in all
  Index bytes = 0;              // of the text
  std::string name;             // of the text
};

/// The tokens of the settings' text, with `lines` a row for each line, by the settings' tokenizer.
/// Throws DataError where a table of lines would pass the settings' max_bytes.
TokenFile tokenize(const TaskSettings& settings);

/// Writes /tokens, with its vocab_size, and /tokenizer.
void write_token_file(Hdf5Writer& writer, const TokenFile& file);

}  // namespace attn
