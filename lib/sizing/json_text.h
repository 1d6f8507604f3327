#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace attn {

/// A JSON document. Its nesting is checked before it is parsed: 1000 levels at most, so that a file
/// made to exhaust memory or time is refused at once. Throws DataError with the place where it
/// breaks.
nlohmann::json parse_json(std::string_view text, const std::string& name);

}  // namespace attn
