#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/task.h"
#include "train/text_scan.h"
#include "train/text_vocabulary.h"
#include "train/token_stream.h"

namespace attn {

/// Files of text, looked through once, and the tokenizer for them.
struct TokenizedText {
  TextScan scan;
  std::shared_ptr<const Tokenizer> tokenizer;
};

/// Opens files as the settings' tokenizer sees them: an earlier run's where there is one, GPT-2's
/// from the folder `vocab`, or one made of what occurs.
TokenizedText open_tokenized(const TaskSettings& settings, const std::vector<std::string>& files,
                             TextUse use);

/// All tokens, one file after the other. A tokenizer of bytes or characters encodes where it is
/// read; another one at once. Throws DataError, which names the file, for what it does not know.
std::shared_ptr<const TokenStream> stream_of(const TokenizedText& text);

/// "characters", "bytes" or "tokens".
const char* unit_word(const Tokenizer& tokenizer);

}  // namespace attn
