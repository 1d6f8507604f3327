#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/byte_source.h"

namespace attn {

/// What the tokens of a text are.
enum class TextUnit { kBytes, kCharacters };

/// Opens files of text, which will be one text. Throws UsageError and DataError as
/// ByteSource::open().
std::vector<ByteSource> open_text(const std::vector<std::string>& files, Index max_bytes);

/// What one pass over the files of a text finds. The files stay mapped; nothing of them is copied.
struct TextScan {
  static constexpr Index kStride = 512;  // characters between two offsets

  struct File {
    std::shared_ptr<const ByteSource> source;
    Index tokens = 0;
    bool one_byte_each = true;   // every token is one byte
    std::vector<Index> offsets;  // else: the bytes at which characters 0, kStride, 2 kStride begin
  };

  TextUnit unit = TextUnit::kCharacters;
  std::vector<File> files;
  std::map<std::uint32_t, Index> counts;  // of each byte or code point
  std::string digest;                     // "xxh3-128:" and 32 digits over all bytes

  /// "book.txt", "book.txt and 2 more".
  std::string name() const;
  /// The characters that occur, in order of code points.
  std::string vocabulary() const;
};

/// Throws DataError where characters are wanted and a file is not UTF-8, with the byte's offset.
TextScan scan_text(std::vector<ByteSource> files, TextUnit unit);

}  // namespace attn
