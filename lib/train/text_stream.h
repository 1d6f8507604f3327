#pragma once

#include <memory>

#include "text/byte_tokenizer.h"
#include "text/char_tokenizer.h"
#include "train/text_scan.h"
#include "train/token_stream.h"

namespace attn {

/// A text as tokens that are encoded where they are read: a byte of the file costs no memory (what
/// reading has brought in is given back now and then), and a text that is not ASCII 8 bytes for
/// each TextScan::kStride characters. A stream belongs to one thread.
class TextStream : public TokenStream {
 public:
  /// The scan has counted what the tokenizer is to encode, bytes or characters. Throws DataError
  /// for a character that it does not know.
  TextStream(TextScan scan, const std::shared_ptr<const ByteTokenizer>& tokenizer);
  TextStream(TextScan scan, std::shared_ptr<const CharTokenizer> tokenizer);

  Index size() const override { return starts_.back(); }
  void read(Index first, std::span<Index> out) const override;
  const std::vector<Index>& counts() const override { return counts_; }

 private:
  void begin(Index vocab_size);
  void read_file(const TextScan::File& file, Index first, std::span<Index> out) const;

  TextScan scan_;
  std::shared_ptr<const CharTokenizer> characters_;  // null: the tokens are bytes
  std::vector<Index> starts_;                        // of each file's tokens, and the end
  std::vector<Index> counts_;
  mutable int reads_ = 0;  // since memory was last given back
};

}  // namespace attn
