#pragma once

#include <array>
#include <optional>
#include <string>

#include "core/index.h"

namespace attn {

/// Tokens that are not text: where a sequence begins and ends, what fills a shorter one up, and
/// what hides a token that is to be guessed. One id may have two of these roles, and a token of the
/// text may have one (the line end of a list of names begins and ends each).
struct SpecialTokens {
  std::optional<Index> bos, eos, pad, mask;

  bool operator==(const SpecialTokens&) const = default;
};

/// How a special token is spelled, in this order where an id has more roles than one.
struct SpecialSpelling {
  const char* spelled;
  std::optional<Index> SpecialTokens::*role;
};
inline constexpr std::array<SpecialSpelling, 4> kSpecialSpellings{
    {{"<bos>", &SpecialTokens::bos},
     {"<eos>", &SpecialTokens::eos},
     {"<pad>", &SpecialTokens::pad},
     {"<mask>", &SpecialTokens::mask}}};

/// "<mask>" for the mask's id; empty for an id without a role.
std::string special_label(const SpecialTokens& specials, Index id);

/// The size of a vocabulary whose text has the ids first_text .. first_text + text_size - 1 and
/// whose other ids are the special tokens. Throws DataError for a negative id, and where an id
/// below the highest is neither.
Index vocabulary_size(const SpecialTokens& specials, Index first_text, Index text_size);

}  // namespace attn
