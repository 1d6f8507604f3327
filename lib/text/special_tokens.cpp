#include "text/special_tokens.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "core/error.h"

namespace attn {

std::string special_label(const SpecialTokens& specials, Index id) {
  for (const auto& [spelled, role] : kSpecialSpellings) {
    if (specials.*role == id) return spelled;
  }
  return {};
}

Index vocabulary_size(const SpecialTokens& specials, Index first_text, Index text_size) {
  const Index after_text = first_text + text_size;
  std::set<Index> apart;  // special tokens that are no text
  for (const auto& [spelled, role] : kSpecialSpellings) {
    const std::optional<Index>& id = specials.*role;
    if (!id) continue;
    if (*id < 0) throw DataError(fmt::format("tokenizer: {} has the id {}", spelled, *id));
    if (*id < first_text || *id >= after_text) apart.insert(*id);
  }
  const Index size = text_size + static_cast<Index>(apart.size());
  const Index last = apart.empty() ? after_text - 1 : std::max(after_text - 1, *apart.rbegin());
  if (last != size - 1) {
    throw DataError(
        fmt::format("tokenizer: {} ids are text and {} special tokens, but the last one is {}",
                    text_size, apart.size(), last));
  }
  return size;
}

}  // namespace attn
