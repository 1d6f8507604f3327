#include "sizing/safetensors_index.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "io/json_text.h"
#include "sizing/config_reader.h"

namespace attn {

std::optional<Index> safetensors_index_bytes(std::string_view text, const std::string& name) {
  const nlohmann::json document = parse_json(text, name);
  ConfigReader index(document, name);
  if (!index.is_object("metadata") || !index.is_object("weight_map")) return std::nullopt;
  auto metadata = index.object("metadata");
  // Some writers put it as 1234.0.
  const auto stated = metadata->number_if_any("total_size");
  if (stated || !metadata->has("total_size")) return metadata->number("total_size");
  constexpr double kWholeBelow = 9007199254740992.0;  // 2^53
  const double size = metadata->factor("total_size").value_or(0.0);
  if (size != std::floor(size) || size > kWholeBelow) {
    metadata->refuse("'total_size' must be a whole number");
  }
  return static_cast<Index>(size);
}

}  // namespace attn
