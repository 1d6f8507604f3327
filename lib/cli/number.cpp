#include "cli/number.h"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/text.h"

namespace attn::cli {
namespace {

struct Unit {
  std::string_view word;
  Index factor;
};

constexpr std::array<Unit, 14> kUnits = {{{"", 1},
                                          {"k", 1000},
                                          {"K", 1000},
                                          {"M", 1'000'000},
                                          {"G", 1'000'000'000},
                                          {"T", 1'000'000'000'000},
                                          {"P", 1'000'000'000'000'000},
                                          {"E", 1'000'000'000'000'000'000},
                                          {"Ki", Index{1} << 10},
                                          {"Mi", Index{1} << 20},
                                          {"Gi", Index{1} << 30},
                                          {"Ti", Index{1} << 40},
                                          {"Pi", Index{1} << 50},
                                          {"Ei", Index{1} << 60}}};

std::optional<Index> unit_factor(std::string_view word) {
  for (const Unit& unit : kUnits) {
    if (unit.word == word) return unit.factor;
  }
  return std::nullopt;
}

void require_text(std::string_view text, std::string_view name) {
  if (text.empty()) throw UsageError(fmt::format("{} has an empty value", name));
}

void require_part(std::string_view part, std::string_view list, std::string_view name) {
  if (part.empty())
    throw UsageError(fmt::format("{}: a comma with nothing beside it: {}", name, escaped(list)));
}

[[noreturn]] void refuse_count(std::string_view text, std::string_view name) {
  throw UsageError(
      fmt::format("{} wants a whole number such as 4096 or 4Ki: '{}'", name, escaped(text)));
}

[[noreturn]] void refuse_size(std::string_view text, std::string_view name) {
  throw UsageError(
      fmt::format("{} wants a size such as 512MiB or 1.5GiB: '{}'", name, escaped(text)));
}

[[noreturn]] void refuse_large(std::string_view text, std::string_view name) {
  throw UsageError(fmt::format("{} is too large: {} leaves 63 bits", name, escaped(text)));
}

Index checked_limits(Index value, std::string_view text, std::string_view name,
                     CountLimits limits) {
  const bool below = value < limits.lowest;
  if (!below && value <= limits.highest) return value;
  if (limits.highest == std::numeric_limits<Index>::max()) {
    throw UsageError(fmt::format("{} must be {} or more: {}", name, limits.lowest, escaped(text)));
  }
  throw UsageError(
      fmt::format("{} must be {} to {}: {}", name, limits.lowest, limits.highest, escaped(text)));
}

// A number with its unit, no limits applied; nothing where it is none. typed: what messages show.
std::optional<Index> number_with_unit(std::string_view text, std::string_view typed,
                                      std::string_view name) {
  Index number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto factor = unit_factor(text.substr(static_cast<std::size_t>(end - text.data())));
  if (error == std::errc::invalid_argument || !factor) return std::nullopt;
  if (error == std::errc::result_out_of_range) refuse_large(typed, name);
  const auto value = checked_mul(number, *factor);
  if (!value) refuse_large(typed, name);
  return *value;
}

Index read_count(std::string_view text, std::string_view name) {
  require_text(text, name);
  const std::optional<Index> value = number_with_unit(text, text, name);
  if (!value) refuse_count(text, name);
  return *value;
}

// first-last, first-last+step or first-last*factor; a minus at the start belongs to the number.
void append_range(std::vector<Index>& values, std::string_view text, std::size_t dash,
                  std::string_view name, CountLimits limits) {
  const std::string_view rest = text.substr(dash + 1);
  const std::size_t sign = rest.find_first_of("+*");
  if (rest.substr(0, sign).empty()) {
    throw UsageError(
        fmt::format("{}: a range needs an end, such as 16-64: {}", name, escaped(text)));
  }
  if (sign == rest.size() - 1) {
    throw UsageError(fmt::format("{}: a range needs a number behind its {}: {}", name, rest[sign],
                                 escaped(text)));
  }
  const Index first = parse_count(text.substr(0, dash), name, limits);
  const Index last = parse_count(rest.substr(0, sign), name, limits);
  const bool doubling = sign != std::string_view::npos && rest[sign] == '*';
  const Index step = sign == std::string_view::npos ? 1 : read_count(rest.substr(sign + 1), name);
  if (last < first) {
    throw UsageError(fmt::format("{}: a range goes up: {}", name, escaped(text)));
  }
  if (step < (doubling ? 2 : 1) || (doubling && first < 1)) {
    throw UsageError(fmt::format("{}: a range must grow at each step: {}", name, escaped(text)));
  }
  for (Index value = first; value <= last;) {
    if (static_cast<Index>(values.size()) >= kMostListValues) {
      throw UsageError(fmt::format("{} gives more than {} values: {}", name,
                                   grouped(kMostListValues), escaped(text)));
    }
    values.push_back(value);
    const auto next = doubling ? checked_mul(value, step) : checked_add(value, step);
    if (!next) break;
    value = *next;
  }
}

}  // namespace

Index parse_count(std::string_view text, std::string_view name, CountLimits limits) {
  return checked_limits(read_count(text, name), text, name, limits);
}

Index parse_size(std::string_view text, std::string_view name, CountLimits limits) {
  require_text(text, name);
  std::string_view digits = text;
  if (digits.ends_with('B')) digits.remove_suffix(1);
  if (digits.find('.') == std::string_view::npos) {
    const std::optional<Index> bytes = number_with_unit(digits, text, name);
    if (!bytes) refuse_size(text, name);
    return checked_limits(*bytes, text, name, limits);
  }
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number,
                                            std::chars_format::fixed);
  const auto factor =
      error == std::errc{}
          ? unit_factor(digits.substr(static_cast<std::size_t>(end - digits.data())))
          : std::nullopt;
  if (!factor) refuse_size(text, name);
  const double bytes = std::floor(number * static_cast<double>(*factor));
  constexpr double kTwoTo63 = 9223372036854775808.0;
  if (std::abs(bytes) >= kTwoTo63) refuse_large(text, name);
  return checked_limits(static_cast<Index>(bytes), text, name, limits);
}

double parse_real(std::string_view text, std::string_view name, RealLimits limits) {
  require_text(text, name);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    throw UsageError(fmt::format("{} is out of range: {}", name, escaped(text)));
  }
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw UsageError(fmt::format("{} wants a number such as 0.003: '{}'", name, escaped(text)));
  }
  if (!std::isfinite(value)) {
    throw UsageError(fmt::format("{} must be finite: {}", name, escaped(text)));
  }
  const bool low = value < limits.lowest || (limits.open_low && value == limits.lowest);
  const bool high = value > limits.highest || (limits.open_high && value == limits.highest);
  if (low) {
    throw UsageError(fmt::format("{} must be {} {}: {}", name,
                                 limits.open_low ? "more than" : "at least", limits.lowest,
                                 escaped(text)));
  }
  if (high) {
    throw UsageError(fmt::format("{} must be {} {}: {}", name,
                                 limits.open_high ? "less than" : "at most", limits.highest,
                                 escaped(text)));
  }
  return value;
}

std::vector<Index> parse_counts(std::string_view text, std::string_view name, CountLimits limits) {
  require_text(text, name);
  std::vector<Index> values;
  for (const std::string_view part : split(text, ',')) {
    require_part(part, text, name);
    const std::size_t dash = part.find('-', 1);
    if (part.size() > 1 && dash != std::string_view::npos) {
      append_range(values, part, dash, name, limits);
    } else {
      values.push_back(parse_count(part, name, limits));
    }
    if (static_cast<Index>(values.size()) > kMostListValues) {
      throw UsageError(fmt::format("{} gives more than {} values", name, grouped(kMostListValues)));
    }
  }
  return values;
}

std::vector<double> parse_reals(std::string_view text, std::string_view name, RealLimits limits) {
  require_text(text, name);
  std::vector<double> values;
  for (const std::string_view part : split(text, ',')) {
    require_part(part, text, name);
    values.push_back(parse_real(part, name, limits));
  }
  return values;
}

}  // namespace attn::cli
