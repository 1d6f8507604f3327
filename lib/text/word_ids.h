#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "core/index.h"

namespace attn {

/// The words of a vocabulary file and their ids: a JSON object {"word": id, ...} and nothing else.
/// Throws DataError, "the vocabulary ...", for other text, for a word that stands there twice, and
/// for an id that is no whole number from 0 on.
std::unordered_map<std::string, Index> read_word_ids(std::string_view json);

}  // namespace attn
