#include "bench/cache_summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/counted.h"
#include "core/text.h"

namespace attn {
namespace {

bool is_whole(const CacheRow& row) {
  return row.phase == (row.work.prompt == 0 ? "decode" : "total");
}

// What a row processes, whatever the cache.
std::array<Index, 3> work_key(const CacheRow& row) {
  return {row.subject, row.work.prompt, row.work.new_tokens};
}

bool same_plan(const CacheRow& a, const CacheRow& b) {
  return work_key(a) == work_key(b) && a.cache == b.cache;
}

std::string work_text(const DecodeWork& work) {
  if (work.prompt == 0) return counted(work.new_tokens, "token");
  return fmt::format("P {}, N {}", grouped(work.prompt), grouped(work.new_tokens));
}

// Is the cache to be named, because there is more than one?
bool several_caches(const std::vector<CachePair>& pairs) {
  return std::any_of(pairs.begin(), pairs.end(), [&](const CachePair& pair) {
    return !(pair.with->cache == pairs.front().with->cache);
  });
}

std::string heads_text(const CacheRow& row) {
  return counted(row.kv_heads, "kv head");
}

}  // namespace

std::vector<CachePair> cache_pairs(const std::vector<CacheRow>& rows) {
  // The first of each work; a sweep has very many.
  std::map<std::array<Index, 3>, const CacheRow*> uncached;
  for (const CacheRow& row : rows) {
    if (!row.cache.cached() && is_whole(row)) uncached.emplace(work_key(row), &row);
  }
  std::vector<CachePair> pairs;
  for (const CacheRow& with : rows) {
    if (!with.cache.cached() || !is_whole(with)) continue;
    const auto without = uncached.find(work_key(with));
    if (without != uncached.end()) pairs.push_back({&with, without->second});
  }
  return pairs;
}

std::vector<double> cumulative_ns(const std::vector<CacheRow>& rows, const CacheRow& whole) {
  std::vector<double> times;
  double sum = 0;
  const auto add = [&](double step) { times.push_back(sum += step); };
  for (const char* phase : {"prefill", "decode"}) {
    for (const CacheRow& row : rows) {
      if (row.phase != phase || !same_plan(row, whole) || row.wall.count() == 0) continue;
      // Without a prompt the prefill is another way, not a part of this one.
      if (row.phase == "prefill" && row.work.prompt > 0) add(row.wall.median());
      for (const double step : row.step_medians()) add(step);
    }
  }
  return times;
}

std::optional<Index> crossover_step(const std::vector<double>& with,
                                    const std::vector<double>& without) {
  std::size_t from = std::min(with.size(), without.size());
  const std::size_t end = from;
  while (from > 0 && with[from - 1] < without[from - 1]) --from;
  if (from == end) return std::nullopt;
  return static_cast<Index>(from) + 1;
}

std::vector<std::string> verdict_lines(const Agreement& agreement, bool portable, bool compared) {
  std::vector<std::string> lines;
  lines.emplace_back(agreement.counts ? "counts agree with their formulas"
                                      : "COUNTS DIFFER from their formulas");
  if (!compared) {
    lines.emplace_back("outputs were not compared (--verify does)");
    return lines;
  }
  const auto word = [](bool agree) { return agree ? "outputs agree" : "OUTPUTS DIFFER"; };
  const bool exact_agrees = agreement.max_difference <= agreement.bound;
  if (!agreement.compared) {
    if (agreement.stored.empty())
      lines.emplace_back("outputs were not compared: there is one way only");
  } else if (exact_agrees && portable) {
    lines.push_back(fmt::format("outputs agree within {:g} of the largest", kOutputBound));
  } else {
    lines.push_back(fmt::format("{}: largest difference {:.1e}, bound {:.1e} ({:g} of the largest)",
                                word(exact_agrees), agreement.max_difference, agreement.bound,
                                kOutputBound));
  }
  for (const StorageAgreement& one : agreement.stored) {
    std::string line = types_name(one.types) + ": ";
    if (!one.compared) {
      line += "there is one way only";
    } else if (one.outputs && portable) {
      line += fmt::format("outputs agree within {:.2g} of the largest", output_bound(one.types));
    } else {
      line += fmt::format("{}: largest difference {:.1e}, bound {:.1e}", word(one.outputs),
                          one.max_difference, one.bound);
    }
    if (!portable) {
      line += fmt::format("; storing so moves them by up to {:.2g} % of the largest",
                          100 * one.storage_error);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<CachePair> exact_pairs(const std::vector<CachePair>& pairs) {
  std::vector<CachePair> exact;
  for (const CachePair& pair : pairs) {
    if (pair.with->cache.types.exact()) exact.push_back(pair);
  }
  return exact.empty() ? pairs : exact;
}

std::vector<std::string> ratio_lines(const std::vector<CachePair>& pairs) {
  const bool several = several_caches(pairs);
  std::vector<std::string> lines;
  for (const CachePair& pair : pairs) {
    const std::string against = several ? ", against " + way_name(pair.with->cache) : "";
    std::string line =
        fmt::format("without the cache, {}, {}{}: {:.1f} times the rows",
                    work_text(pair.with->work), heads_text(*pair.with), against, pair.row_ratio());
    if (pair.with->wall.count() > 0)
      line += fmt::format(", {:.1f} times the time", pair.time_ratio());
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> crossover_lines(const std::vector<CacheRow>& rows) {
  const std::vector<CachePair> pairs = exact_pairs(cache_pairs(rows));
  const bool several = several_caches(pairs);
  // The longest work of each subject and cache; of equally long ones the first.
  std::vector<CachePair> longest;
  for (const CachePair& pair : pairs) {
    const auto same = std::find_if(longest.begin(), longest.end(), [&](const CachePair& one) {
      return one.with->subject == pair.with->subject && one.with->cache == pair.with->cache;
    });
    if (same == longest.end()) {
      longest.push_back(pair);
    } else if (pair.with->work.total() > same->with->work.total()) {
      *same = pair;
    }
  }
  std::vector<std::string> lines;
  for (const CachePair& pair : longest) {
    const std::vector<double> with = cumulative_ns(rows, *pair.with);
    const std::vector<double> without = cumulative_ns(rows, *pair.without);
    if (with.empty() || without.empty()) continue;
    const std::optional<Index> step = crossover_step(with, without);
    const std::string which =
        heads_text(*pair.with) + (several ? ", " + way_name(pair.with->cache) : "");
    const char* token = pair.with->work.prompt == 0 ? "token" : "new token";
    lines.push_back(step ? fmt::format("crossover, {}: the cache has saved time from {} {} on, to "
                                       "the last of {}",
                                       which, token, grouped(*step), work_text(pair.with->work))
                         : fmt::format("crossover, {}: none, {} take no longer without the cache",
                                       which, work_text(pair.with->work)));
  }
  return lines;
}

std::vector<std::string> yardstick_lines(const CacheExperiment& experiment) {
  const std::optional<Yardsticks>& found = experiment.yardsticks();
  if (!found) return {};
  // What the rows are held against; of several sizes the largest.
  Index largest = 0;
  double sweep = 0;
  for (const CacheRow& row : experiment.rows()) {
    if (!row.reference_bandwidth || experiment.working_set(row) < largest) continue;
    largest = experiment.working_set(row);
    sweep = *row.reference_bandwidth;
  }
  std::string line = "measured here: ";
  if (largest > 0)
    line += fmt::format("{:.1f} GB/s reading {}, ", sweep * 1e-9, short_size_text(largest));
  line +=
      fmt::format("{:.1f} GB/s reading {}, {:.0f} GFLOP/s in sgemm", found->memory_bandwidth * 1e-9,
                  short_size_text(found->memory_sweep_bytes), found->sgemm_peak * 1e-9);
  return {line};
}

}  // namespace attn
