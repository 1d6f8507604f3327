#include "io/json_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

using nlohmann::json;

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

json parse(std::string_view text, const std::string& name, const json::parser_callback_t& look) {
  if (nesting(text) > kDeepest) {
    throw DataError(fmt::format("{}: nested more than {} levels deep", name, kDeepest));
  }
  try {
    return json::parse(text, look);
  } catch (const json::parse_error& error) {
    throw DataError(fmt::format("{}: not JSON: it breaks at byte {}", name, error.byte));
  } catch (const json::out_of_range&) {
    throw DataError(fmt::format("{}: not JSON that can be read: a number is out of range", name));
  }
}

// Refuses a name that the object being read has had.
class DistinctNames {
 public:
  explicit DistinctNames(const std::string& file) : file_(file) {}

  bool operator()(json::parse_event_t event, const json& parsed) {
    if (event == json::parse_event_t::object_start) {
      open_.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      open_.pop_back();
    } else if (event == json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!open_.back().insert(key).second) {
        throw DataError(fmt::format("{}: '{}' stands there twice", file_, escaped(key)));
      }
    }
    return true;
  }

 private:
  const std::string& file_;
  std::vector<std::set<std::string>> open_;  // the names of each object around
};

}  // namespace

json parse_json(std::string_view text, const std::string& name) {
  return parse(text, name, nullptr);
}

json parse_json_object(std::string_view text, const std::string& name) {
  require_plain_json(text, name);
  DistinctNames distinct(name);
  json document =
      parse(text, name, [&distinct](int, json::parse_event_t event, const json& parsed) {
        return distinct(event, parsed);
      });
  if (!document.is_object()) throw DataError(fmt::format("{}: not a JSON object", name));
  return document;
}

void require_plain_json(std::string_view text, const std::string& name) {
  if (text.starts_with("\xef\xbb\xbf")) {
    throw DataError(fmt::format("{}: not JSON: it begins with a byte order mark", name));
  }
  const std::size_t nul = text.find('\0');
  if (nul != std::string_view::npos) {
    throw DataError(fmt::format("{}: not JSON: it breaks at byte {}, a NUL", name, nul + 1));
  }
}

}  // namespace attn
