#include "train/tokenized_text.h"

#include <fmt/core.h>

#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "train/text_stream.h"

namespace attn {

TokenizedText open_tokenized(const TaskSettings& settings, const std::vector<std::string>& files,
                             TextUse use) {
  TextUnit unit = parse_text_unit(settings.tokenizer);
  if (settings.tokenizer_from != nullptr) {
    require_roles(*settings.tokenizer_from, use);
    unit = settings.tokenizer_from->data().kind == "characters" ? TextUnit::kCharacters
                                                                : TextUnit::kBytes;
  }
  TokenizedText opened;
  opened.scan = scan_text(open_text(files, settings.max_bytes), unit);
  if (settings.tokenizer_from != nullptr) {
    opened.tokenizer = settings.tokenizer_from;
  } else if (settings.tokenizer == "gpt2") {
    opened.tokenizer = make_gpt2_tokenizer(settings.vocab, use);
  } else {
    opened.tokenizer = make_text_tokenizer(opened.scan, use);
  }
  return opened;
}

std::shared_ptr<const TokenStream> stream_of(const TokenizedText& text) {
  if (auto bytes = std::dynamic_pointer_cast<const ByteTokenizer>(text.tokenizer)) {
    return std::make_shared<TextStream>(text.scan, bytes);
  }
  if (auto characters = std::dynamic_pointer_cast<const CharTokenizer>(text.tokenizer)) {
    return std::make_shared<TextStream>(text.scan, std::move(characters));
  }
  std::vector<Index> tokens;
  for (const TextScan::File& file : text.scan.files) {
    try {
      const std::vector<Index> more = text.tokenizer->encode(as_text(file.source->bytes()));
      tokens.insert(tokens.end(), more.begin(), more.end());
    } catch (const UsageError& error) {
      throw DataError(fmt::format("{}: {}", file.source->name(), error.what()));
    }
  }
  return std::make_shared<TokenList>(std::move(tokens), text.tokenizer->vocab_size());
}

const char* unit_word(const Tokenizer& tokenizer) {
  const std::string kind = tokenizer.data().kind;
  return kind == "characters" ? "characters" : kind == "bytes" ? "bytes" : "tokens";
}

}  // namespace attn
