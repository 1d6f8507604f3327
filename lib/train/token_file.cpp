#include "train/token_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "model/tokenizer_group.h"
#include "train/file_tokens.h"
#include "train/text_lines.h"
#include "train/tokenized_text.h"

namespace attn {
namespace {

void put_stream(const TokenStream& stream, TokenFile& file) {
  constexpr Index kBlock = Index{1} << 16;
  file.count = stream.size();
  file.tokens = Tensor<std::int32_t>({stream.size()});
  std::vector<Index> block(static_cast<std::size_t>(kBlock));
  for (Index first = 0; first < stream.size(); first += kBlock) {
    const std::span<Index> part(block.data(),
                                static_cast<std::size_t>(std::min(kBlock, stream.size() - first)));
    stream.read(first, part);
    std::transform(part.begin(), part.end(), file.tokens.data() + first,
                   [](Index id) { return static_cast<std::int32_t>(id); });
  }
}

void put_lines(const LineDocuments& lines, Index max_bytes, TokenFile& file) {
  Index longest = 0;
  for (Index line = 0; line < lines.size(); ++line) {
    const auto length = static_cast<Index>(lines.tokens(line).size());
    longest = std::max(longest, length);
    file.count += length;
  }
  const Index extents[] = {lines.size(), longest, Index{sizeof(std::int32_t)}};
  const auto bytes = checked_product(extents);
  if (!bytes || *bytes > max_bytes) {
    throw DataError(fmt::format("{}: {} lines of up to {} tokens are a table of more than {}",
                                file.name, lines.size(), longest, short_size_text(max_bytes)),
                    {"--max-bytes allows more; without --lines they are one stream"});
  }
  file.tokens = Tensor<std::int32_t>({lines.size(), longest});
  std::fill(file.tokens.values.begin(), file.tokens.values.end(), -1);
  for (Index line = 0; line < lines.size(); ++line) {
    const std::vector<Index> ids = lines.tokens(line);
    std::transform(ids.begin(), ids.end(), file.tokens.data() + line * longest,
                   [](Index id) { return static_cast<std::int32_t>(id); });
  }
}

}  // namespace

TokenFile tokenize(const TaskSettings& settings) {
  const TokenizedText text =
      open_tokenized(settings, settings.text, settings.lines ? TextUse::kLines : TextUse::kWindows);
  TokenFile file;
  file.tokenizer = text.tokenizer;
  file.name = text.scan.name();
  for (const TextScan::File& one : text.scan.files) {
    file.bytes += static_cast<Index>(one.source->bytes().size());
  }
  if (settings.lines) {
    put_lines(LineDocuments(TextLines(text.scan), text.tokenizer), settings.max_bytes, file);
  } else {
    put_stream(*stream_of(text), file);
  }
  return file;
}

void write_token_file(Hdf5Writer& writer, const TokenFile& file) {
  writer.dataset(FileTokens::kDataset, file.tokens);
  writer.attribute(FileTokens::kDataset, "vocab_size", file.tokenizer->vocab_size());
  write_tokenizer(writer, *file.tokenizer);
}

}  // namespace attn
