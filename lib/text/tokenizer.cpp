#include "text/tokenizer.h"

#include <fmt/core.h>

#include "core/error.h"
#include "core/text.h"
#include "text/char_tokenizer.h"
#include "text/id_tokenizer.h"

namespace attn {

std::shared_ptr<const Tokenizer> make_tokenizer(const TokenizerData& data) {
  std::shared_ptr<const Tokenizer> made;
  if (data.kind == "ids") {
    if (data.vocab_size < 1) {
      throw DataError(fmt::format("tokenizer: wanted at least 1 token, got {}", data.vocab_size));
    }
    made = std::make_shared<IdTokenizer>(data.vocab_size);
  } else if (data.kind == "characters") {
    const auto vocabulary = data.datasets.find("vocabulary");
    if (vocabulary == data.datasets.end()) {
      throw DataError("tokenizer: the characters' vocabulary is missing");
    }
    const std::string_view bytes(reinterpret_cast<const char*>(vocabulary->second.data()),
                                 vocabulary->second.size());
    made = std::make_shared<CharTokenizer>(bytes);
  } else {
    throw DataError(
        fmt::format("tokenizer: kind '{}' is not known (characters, ids)", escaped(data.kind)));
  }
  if (made->vocab_size() != data.vocab_size) {
    throw DataError(fmt::format("tokenizer: its table holds {} tokens, stated are {}",
                                made->vocab_size(), data.vocab_size));
  }
  return made;
}

}  // namespace attn
