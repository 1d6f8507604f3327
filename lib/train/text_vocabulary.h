#pragma once

#include <memory>

#include "text/tokenizer.h"
#include "train/text_scan.h"

namespace attn {

/// Which special tokens the use of a text needs.
enum class TextUse {
  kWindows,        // none
  kMasked,         // a mask, the last id
  kLines,          // the line end begins and ends each document (and pads)
  kTwoStackPairs,  // BOS and EOS: ids 0 and 1 before characters, 256 and 257 after bytes
  kOneStackPairs,  // a line as it stands: the tab separates, the line end ends
};

/// How a text of "characters", "bytes" or "gpt2" is looked through. Throws UsageError for another
/// word.
TextUnit parse_text_unit(const std::string& name);

/// A tokenizer for what was found in a text, without the carriage returns of line ends where lines
/// are wanted.
std::shared_ptr<const Tokenizer> make_text_tokenizer(const TextScan& scan, TextUse use);

/// GPT-2's tokenizer from the files in `folder`. What needs a beginning or an end has <|endoftext|>
/// for both; a mask is one id more. Throws UsageError where no folder is given, DataError as
/// read_gpt2_tokenizer.
std::shared_ptr<const Tokenizer> make_gpt2_tokenizer(const std::string& folder, TextUse use);

/// Throws UsageError where an earlier run's tokenizer lacks what the use needs.
void require_roles(const Tokenizer& tokenizer, TextUse use);

}  // namespace attn
