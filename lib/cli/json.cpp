#include "cli/json.h"

#include <array>
#include <charconv>
#include <cmath>

namespace attn::cli {

Json json_number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json json_number(float value) {
  if (!std::isfinite(value)) return nullptr;
  std::array<char, 32> digits{};
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  double same_digits = 0;
  std::from_chars(digits.data(), written.ptr, same_digits);
  return same_digits;
}

std::string json_text(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string json_line(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace attn::cli
