#include "core/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace attn {

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  char32_t code = 0;
  if (first >= 0xc2 && first <= 0xdf) {
    length = 2;
    code = first & 0x1fU;
  } else if (first >= 0xe0 && first <= 0xef) {
    length = 3;
    code = first & 0x0fU;
  } else if (first >= 0xf0 && first <= 0xf4) {
    length = 4;
    code = first & 0x07U;
  } else {
    return 0;
  }
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return 0;
    code = (code << 6) | (byte(i) & 0x3fU);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return overlong || surrogate || code > 0x10ffff ? 0 : length;
}

namespace {

// U+200E, U+200F, U+202A .. U+202E and U+2066 .. U+2069 turn the direction of the text after them:
// a line on a terminal then reads as it is not.
bool turns_direction(std::string_view character) {
  if (character.size() != 3 || character.substr(0, 1) != "\xe2") return false;
  const auto second = static_cast<unsigned char>(character[1]);
  const auto third = static_cast<unsigned char>(character[2]);
  if (second == 0x80) {
    return third == 0x8e || third == 0x8f || (third >= 0xaa && third <= 0xae);
  }
  return second == 0x81 && third >= 0xa6 && third <= 0xa9;
}

}  // namespace

std::string escaped(std::string_view text, std::size_t limit) {
  std::string safe;
  while (!text.empty()) {
    if (safe.size() >= limit) return safe + "...";
    const std::size_t length = utf8_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    // C1 controls (U+0080 .. U+009F) steer terminals too.
    const bool c1 = length == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
    const bool turns = turns_direction(text.substr(0, length));
    if (length == 0 || c1 || turns || first < 0x20 || first == 0x7f) {
      const std::size_t count = std::max(length, std::size_t{1});
      for (std::size_t i = 0; i < count; ++i) {
        safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
      }
      text.remove_prefix(count);
    } else {
      safe += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return safe;
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string shape_text(const std::vector<Index>& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", shape[i]);
  return text + ")";
}

std::string grouped(Index value) {
  std::string digits = fmt::format("{}", value);
  const std::size_t start = value < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > start + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string short_size_text(Index bytes) {
  if (std::abs(bytes) < 1024)
    return fmt::format("{} {}", bytes, std::abs(bytes) == 1 ? "byte" : "bytes");
  constexpr std::array<std::string_view, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes) / 1024.0;
  std::size_t unit = 0;
  // 1023.95 of a unit would print as 1024.0 of it.
  while (std::abs(value) >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  std::string digits = fmt::format("{:.{}f}", value, std::abs(value) < 10 ? 2 : 1);
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return fmt::format("{} {}", digits, kUnits[unit]);
}

std::string size_text(Index bytes) {
  if (std::abs(bytes) < 1024) return short_size_text(bytes);
  return fmt::format("{} ({} bytes)", short_size_text(bytes), grouped(bytes));
}

namespace {

// Optimal string alignment: Levenshtein's edits and the swap of two neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string nearest_word(std::string_view typed, const std::vector<std::string>& known) {
  constexpr std::size_t kLongestWord = 64;
  if (typed.empty() || typed.size() > kLongestWord) return "";
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, typed.size() / 3) + 1;
  std::vector<std::string> begun;
  for (const std::string& word : known) {
    if (word.starts_with(typed)) begun.push_back(word);
    const std::size_t distance = edit_distance(typed, word);
    if (distance < best_distance) {
      best_distance = distance;
      best = word;
    }
  }
  if (best.empty() && begun.size() == 1) return begun.front();
  return best;
}

}  // namespace attn
