#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attn {
namespace {

constexpr std::pair<ScheduleKind, const char*> kNames[] = {
    {ScheduleKind::kConstant, "constant"},
    {ScheduleKind::kLinear, "linear"},
    {ScheduleKind::kCosine, "cosine"},
    {ScheduleKind::kInverseSqrt, "inverse_sqrt"}};

}  // namespace

double Schedule::rate(Index step) const {
  if (step < warmup) return lr * static_cast<double>(step + 1) / static_cast<double>(warmup);
  const Index after = step - warmup;
  const Index length = std::max<Index>(steps - warmup, 1);
  const double done = std::min(static_cast<double>(after) / static_cast<double>(length), 1.0);
  switch (kind) {
    case ScheduleKind::kConstant:
      return lr;
    case ScheduleKind::kLinear:
      return min_lr + (lr - min_lr) * (1.0 - done);
    case ScheduleKind::kCosine:
      return min_lr + (lr - min_lr) * (1.0 + std::cos(std::numbers::pi * done)) / 2.0;
    case ScheduleKind::kInverseSqrt:
      break;
  }
  const auto highest = static_cast<double>(std::max<Index>(warmup, 1));
  return std::max(min_lr, lr * std::sqrt(highest / static_cast<double>(step + 1)));
}

template <>
std::vector<std::string> enum_names<ScheduleKind>() {
  std::vector<std::string> all;
  for (const auto& entry : kNames) all.emplace_back(entry.second);
  return all;
}

template <>
std::string enum_name(ScheduleKind value) {
  for (const auto& entry : kNames) {
    if (entry.first == value) return entry.second;
  }
  return "";
}

template <>
std::optional<ScheduleKind> parse_enum(std::string_view name) {
  std::string wanted(name);
  std::replace(wanted.begin(), wanted.end(), '-', '_');
  if (wanted == "warmup_cosine") return ScheduleKind::kCosine;
  for (const auto& entry : kNames) {
    if (wanted == entry.second) return entry.first;
  }
  return std::nullopt;
}

}  // namespace attn
