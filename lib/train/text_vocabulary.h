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

/// "characters" or "bytes". Throws UsageError for another word.
TextUnit parse_text_unit(const std::string& name);

/// A tokenizer for what was found in a text, without the carriage returns of line ends where lines
/// are wanted.
std::shared_ptr<const Tokenizer> make_text_tokenizer(const TextScan& scan, TextUse use);

/// Throws UsageError where an earlier run's tokenizer lacks what the use needs.
void require_roles(const Tokenizer& tokenizer, TextUse use);

}  // namespace attn
