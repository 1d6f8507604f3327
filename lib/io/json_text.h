#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace attn {

/// A JSON document. Its nesting is checked before it is parsed: 1000 levels at most, so that a file
/// made to exhaust memory or time is refused at once. Throws DataError with the place where it
/// breaks.
nlohmann::json parse_json(std::string_view text, const std::string& name);

/// The same, of one JSON object in which no name stands twice: a file that says two things means
/// neither.
nlohmann::json parse_json_object(std::string_view text, const std::string& name);

/// Throws DataError for what nlohmann's parser would pass over: a byte order mark, and a NUL, which
/// it takes for the end of the text.
void require_plain_json(std::string_view text, const std::string& name);

}  // namespace attn
