#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace attn::cli {

/// A JSON value whose keys stay in the order of writing.
using Json = nlohmann::ordered_json;

/// A number as JSON can say it: null where it is not finite. A float keeps the shortest digits
/// that name it (0.1, not 0.10000000149011612).
Json json_number(double value);
Json json_number(float value);

/// The whole document, indented, with a line end. Bytes that are no UTF-8 become U+FFFD.
std::string json_text(const Json& document);

/// The same on one line.
std::string json_line(const Json& document);

}  // namespace attn::cli
