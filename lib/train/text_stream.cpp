#include "train/text_stream.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"

namespace attn {
namespace {

// Length of a character that is known to be valid, by its first byte.
std::size_t known_length(char first) {
  const auto lead = static_cast<unsigned char>(first);
  return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

}  // namespace

TextStream::TextStream(TextScan scan, const std::shared_ptr<const ByteTokenizer>& tokenizer)
    : scan_(std::move(scan)) {
  require_shape(scan_.unit == TextUnit::kBytes, "text stream: characters for a byte tokenizer");
  begin(tokenizer->vocab_size());
  for (const auto& [byte, count] : scan_.counts) counts_[byte] = count;
}

TextStream::TextStream(TextScan scan, std::shared_ptr<const CharTokenizer> tokenizer)
    : scan_(std::move(scan)), characters_(std::move(tokenizer)) {
  require_shape(scan_.unit == TextUnit::kCharacters, "text stream: bytes for characters");
  begin(characters_->vocab_size());
  for (const auto& [code, count] : scan_.counts) {
    const Index id = characters_->id(code);
    if (id < 0) {
      throw DataError(fmt::format("{}: {} is not in the vocabulary of the tokenizer", scan_.name(),
                                  character_name(utf8_character(code))));
    }
    counts_[static_cast<std::size_t>(id)] = count;
  }
}

void TextStream::begin(Index vocab_size) {
  counts_.assign(static_cast<std::size_t>(vocab_size), 0);
  starts_.push_back(0);
  for (const TextScan::File& file : scan_.files) starts_.push_back(starts_.back() + file.tokens);
}

void TextStream::read(Index first, std::span<Index> out) const {
  require_shape(first >= 0 && first + static_cast<Index>(out.size()) <= size(),
                "text stream: tokens beyond the end");
  // A look at a mapped file brings in some 64 KiB around it.
  constexpr int kReadsHeld = 128;
  if (++reads_ >= kReadsHeld) {
    reads_ = 0;
    for (const TextScan::File& file : scan_.files) {
      file.source->forget(0, static_cast<Index>(file.source->bytes().size()));
    }
  }
  auto file = static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), first) -
                                       starts_.begin() - 1);
  while (!out.empty()) {
    const auto here = static_cast<std::size_t>(
        std::min(static_cast<Index>(out.size()), starts_[file + 1] - first));
    read_file(scan_.files[file], first - starts_[file], out.first(here));
    out = out.subspan(here);
    first = starts_[++file];
  }
}

void TextStream::read_file(const TextScan::File& file, Index first, std::span<Index> out) const {
  const std::string_view text = as_text(file.source->bytes());
  auto at = static_cast<std::size_t>(first);
  if (!file.one_byte_each) {
    at =
        static_cast<std::size_t>(file.offsets[static_cast<std::size_t>(first / TextScan::kStride)]);
    for (Index skip = first % TextScan::kStride; skip > 0; --skip) at += known_length(text[at]);
  }
  for (Index& id : out) {
    if (characters_ == nullptr) {
      id = static_cast<unsigned char>(text[at++]);
      continue;
    }
    const std::size_t length = known_length(text[at]);
    id = characters_->id(code_point(text.substr(at, length)));
    at += length;
  }
}

}  // namespace attn
