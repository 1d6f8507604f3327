#include "sizing/paging.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/ceil_div.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/text.h"
#include "sizing/wide.h"

namespace attn {
namespace {

Index grown_buffer(Index length) {
  Index buffer = 16;
  while (buffer < length) buffer *= 2;
  return buffer;
}

Index narrow(Wide tokens) {
  const auto value = narrowed(tokens);
  if (!value) throw UsageError("--lengths: the sequences have more than 2^63 tokens");
  return *value;
}

constexpr double kMostTokens = 1e12;  // that a distribution may speak of

// The numbers of a distribution, each above 0.
std::vector<double> parameters_of(std::string_view distribution, std::size_t count) {
  const auto parts = split(distribution, ':');
  std::vector<double> values;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    double value = 0;
    const char* const last = parts[i].data() + parts[i].size();
    const auto [end, error] = std::from_chars(parts[i].data(), last, value);
    if (error != std::errc{} || end != last || !(value > 0)) break;
    if (value > kMostTokens) {
      throw UsageError(fmt::format("--lengths: '{}' speaks of more than {} tokens",
                                   escaped(distribution),
                                   grouped(static_cast<Index>(kMostTokens))));
    }
    values.push_back(value);
  }
  if (values.size() != count || parts.size() != count + 1) {
    throw UsageError(fmt::format("--lengths: '{}' is no distribution", escaped(distribution)),
                     {"uniform:LOW:HIGH, geometric:MEAN, lognormal:MEAN:SIGMA, with numbers above "
                      "0"});
  }
  return values;
}

}  // namespace

double Reservation::waste() const {
  return reserved == 0 ? 0.0 : 1.0 - static_cast<double>(used) / static_cast<double>(reserved);
}

std::vector<Reservation> reservations(const std::vector<Index>& lengths, Index longest,
                                      const std::vector<Index>& pages, Index shared_prefix) {
  Wide used = 0;
  Wide doubled = 0;
  for (const Index length : lengths) {
    if (length > longest) {
      throw UsageError(fmt::format("--lengths has a sequence of {} tokens, --max-length is {}",
                                   grouped(length), grouped(longest)));
    }
    if (length < shared_prefix) {
      throw UsageError(fmt::format("--shared-prefix {} is longer than a sequence of {} tokens",
                                   shared_prefix, length));
    }
    used += length;
    doubled += grown_buffer(length);
  }
  const auto sequences = static_cast<Index>(lengths.size());
  std::vector<Reservation> all;
  all.push_back({"contiguous", 0, narrow(Wide{longest} * sequences), narrow(used), sequences});
  all.push_back({"power of two", 0, narrow(doubled), narrow(used), sequences});
  for (const Index page : pages) {
    // Whole pages of the prefix are held once; the page in which it ends is each sequence's own.
    const Index common = shared_prefix / page;
    Wide held = 0;
    Wide entries = 0;
    for (const Index length : lengths) {
      held += ceil_div(length, page) - common;
      entries += ceil_div(length, page);
    }
    if (sequences > 0) held += common;
    const Wide saved = sequences > 0 ? Wide{common} * page * (sequences - 1) : Wide{0};
    all.push_back({fmt::format("pages of {}", page), page, narrow(held * page),
                   narrow(used - saved), narrow(entries)});
  }
  return all;
}

bool is_distribution(std::string_view text) {
  return text.starts_with("uniform:") || text.starts_with("geometric:") ||
         text.starts_with("lognormal:");
}

std::vector<Index> drawn_lengths(std::string_view distribution, Index count, Index longest,
                                 Index seed) {
  Rng rng(static_cast<std::uint64_t>(seed), RandomPurpose::kExample);
  const bool one = distribution.starts_with("geometric:");
  const std::vector<double> p = parameters_of(distribution, one ? 1 : 2);
  if (distribution.starts_with("uniform:") && p[1] < p[0]) {
    throw UsageError(fmt::format("--lengths: a range goes up: '{}'", escaped(distribution)));
  }
  std::vector<Index> lengths;
  lengths.reserve(static_cast<std::size_t>(count));
  for (Index i = 0; i < count; ++i) {
    double length = 0;
    if (one) {
      length =
          std::ceil(std::log1p(-rng.uniform()) / std::log1p(-1.0 / std::max(p[0], 1.0 + 1e-9)));
    } else if (distribution.starts_with("uniform:")) {
      length = p[0] + std::floor(rng.uniform() * (p[1] - p[0] + 1));
    } else {
      // The mean of exp(N(m, s)) is exp(m + s^2 / 2).
      length = std::exp(std::log(p[0]) - p[1] * p[1] / 2 + p[1] * rng.normal());
    }
    lengths.push_back(
        std::clamp<Index>(static_cast<Index>(std::llround(std::min(length, 1e15))), 1, longest));
  }
  return lengths;
}

std::vector<Index> parsed_lengths(std::string_view text, const std::string& name) {
  std::vector<Index> lengths;
  Index number_of_line = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number_of_line;
    if (line.starts_with('#')) continue;
    while (!line.empty()) {
      const std::size_t start = line.find_first_not_of(" \t\r,;");
      if (start == std::string_view::npos) break;
      line.remove_prefix(start);
      const std::size_t stop = std::min(line.find_first_of(" \t\r,;"), line.size());
      Index length = 0;
      const auto [end, error] = std::from_chars(line.data(), line.data() + stop, length);
      if (error != std::errc{} || end != line.data() + stop || length < 1) {
        throw DataError(fmt::format("{}: line {}: wanted a length of 1 or more, found '{}'", name,
                                    number_of_line, escaped(line.substr(0, stop), 40)));
      }
      lengths.push_back(length);
      line.remove_prefix(stop);
    }
  }
  if (lengths.empty()) throw DataError(fmt::format("{}: no lengths in it", name));
  return lengths;
}

}  // namespace attn
