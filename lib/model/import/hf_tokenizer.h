#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace attn {

/// The tokenizer of a model folder, or why there is none.
struct HfTokenizer {
  std::shared_ptr<const Tokenizer> tokenizer;  ///< null: token ids only
  std::string note;                            ///< what people should know; may be empty
};

/// From vocab.json and merges.txt, or encoder.json and vocab.bpe: GPT-2's byte-level BPE. From a
/// vocab.json without merges whose words are single characters: characters, beside which <bos>,
/// <eos>, <pad> and <mask> may stand. Else ids, with the special tokens, or nothing where there are
/// none of these. `specials` are the model's. Throws DataError for a vocabulary that is broken or
/// larger than the model's. max_bytes: of each file.
HfTokenizer read_hf_tokenizer(const std::string& folder, Index vocab_size,
                              const SpecialTokens& specials, Index max_bytes);

/// True where tokenizer_config.json says add_bos_token: prompts begin with the model's
/// bos_token_id.
bool adds_bos(const std::string& folder, Index max_bytes);

/// The files that say the same: name -> content. No vocabulary where ids are all there is, and for
/// a tokenizer that has no such form.
/// A first token that our tokenizer puts before each prompt is said by tokenizer_config.json.
std::map<std::string, std::string> hf_tokenizer_files(const Tokenizer& tokenizer);

}  // namespace attn
