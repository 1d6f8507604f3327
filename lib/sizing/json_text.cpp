#include "sizing/json_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace attn {
namespace {

constexpr int kDeepest = 1000;

int nesting(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& name) {
  if (nesting(text) > kDeepest) {
    throw DataError(fmt::format("{}: nested more than {} levels deep", name, kDeepest));
  }
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    throw DataError(fmt::format("{}: not JSON: it breaks at byte {}", name, error.byte));
  } catch (const nlohmann::json::out_of_range&) {
    throw DataError(fmt::format("{}: not JSON that can be read: a number is out of range", name));
  }
}

}  // namespace attn
