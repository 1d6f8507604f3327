#pragma once

#include <limits>
#include <string_view>
#include <vector>

#include "core/index.h"

namespace attn::cli {

/// What a count may be, both ends included.
struct CountLimits {
  Index lowest = 1;
  Index highest = std::numeric_limits<Index>::max();
};

/// What a real number may be; the ends are included unless open.
struct RealLimits {
  double lowest = std::numeric_limits<double>::lowest();
  double highest = std::numeric_limits<double>::max();
  bool open_low = false;
  bool open_high = false;
};

/// The most values that one list or range may have.
inline constexpr Index kMostListValues = 10'000'000;

// All of these read the whole text, whatever the locale, and throw UsageError with `name` (an
// option as typed, "--layers") and what was wanted.

/// A whole number: 4096, 4Ki = 4096, 4k = 4K = 4000; also M G T and Mi Gi Ti.
Index parse_count(std::string_view text, std::string_view name, CountLimits limits = {});

/// Bytes: a count or a fraction of a unit, with or without a B: 4GiB, 1.5Gi, 640.
Index parse_size(std::string_view text, std::string_view name, CountLimits limits = {});

/// A finite number with a decimal point: 0.003, 3e-3.
double parse_real(std::string_view text, std::string_view name, RealLimits limits = {});

/// Counts with commas between them, each a number or a range: 512,1024 or 1-8 (every one) or
/// 16-64+16 (16 32 48 64) or 128-131072*2 (doubling). Kept in the order typed.
std::vector<Index> parse_counts(std::string_view text, std::string_view name,
                                CountLimits limits = {});

/// Real numbers with commas between them.
std::vector<double> parse_reals(std::string_view text, std::string_view name,
                                RealLimits limits = {});

}  // namespace attn::cli
