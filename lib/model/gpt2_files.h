#pragma once

#include <memory>
#include <string>

#include "text/gpt2_tokenizer.h"

namespace attn {

/// GPT-2's tokenizer from the files of a folder: vocab.json and merges.txt, as Hugging Face calls
/// them, or encoder.json and vocab.bpe, as OpenAI does. Roles and size as Gpt2Tokenizer. Throws
/// DataError that names the folder where it holds neither pair, and the folder and file for what is
/// wrong in one.
std::shared_ptr<const Gpt2Tokenizer> read_gpt2_tokenizer(const std::string& folder,
                                                         const SpecialTokens& specials = {},
                                                         Index vocab_size = 0);

}  // namespace attn
