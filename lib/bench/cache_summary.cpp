#include "bench/cache_summary.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"

namespace attn {
namespace {

bool is_whole(const CacheRow& row) {
  return row.phase == (row.work.prompt == 0 ? "decode" : "total");
}

bool same_work(const CacheRow& a, const CacheRow& b) {
  return a.subject == b.subject && a.work.prompt == b.work.prompt &&
         a.work.new_tokens == b.work.new_tokens;
}

std::string heads_text(const CacheRow& row) {
  return fmt::format("{} kv head{}", row.kv_heads, row.kv_heads == 1 ? "" : "s");
}

}  // namespace

std::vector<CachePair> cache_pairs(const std::vector<CacheRow>& rows) {
  std::vector<CachePair> pairs;
  for (const CacheRow& with : rows) {
    if (with.cache == CacheKind::kNone || !is_whole(with)) continue;
    for (const CacheRow& without : rows) {
      if (without.cache == CacheKind::kNone && is_whole(without) && same_work(with, without)) {
        pairs.push_back({&with, &without});
        break;
      }
    }
  }
  return pairs;
}

std::vector<std::string> verdict_lines(const Agreement& agreement, bool portable) {
  std::vector<std::string> lines;
  lines.emplace_back(agreement.counts ? "counts agree with their formulas"
                                      : "COUNTS DIFFER from their formulas");
  if (!agreement.compared) {
    lines.emplace_back("outputs were not compared: there is one way only");
  } else if (agreement.outputs && portable) {
    lines.push_back(fmt::format("outputs agree within {:g} of the largest", kOutputBound));
  } else {
    lines.push_back(fmt::format("{}: largest difference {:.1e}, bound {:.1e} ({:g} of the largest)",
                                agreement.outputs ? "outputs agree" : "OUTPUTS DIFFER",
                                agreement.max_difference, agreement.bound, kOutputBound));
  }
  return lines;
}

std::vector<std::string> ratio_lines(const std::vector<CachePair>& pairs) {
  std::vector<std::string> lines;
  for (const CachePair& pair : pairs) {
    const DecodeWork& work = pair.with->work;
    const std::string what = work.prompt == 0 ? fmt::format("{} tokens", grouped(work.new_tokens))
                                              : fmt::format("P {}, N {}", grouped(work.prompt),
                                                            grouped(work.new_tokens));
    std::string line = fmt::format("without the cache, {}, {}: {:.1f} times the rows", what,
                                   heads_text(*pair.with), pair.row_ratio());
    if (pair.with->wall.count() > 0)
      line += fmt::format(", {:.1f} times the time", pair.time_ratio());
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> crossover_lines(const std::vector<CachePair>& pairs) {
  std::vector<CachePair> lengths;
  for (const CachePair& pair : pairs) {
    if (pair.with->work.prompt == 0 && pair.with->wall.count() > 0) lengths.push_back(pair);
  }
  std::stable_sort(lengths.begin(), lengths.end(), [](const CachePair& a, const CachePair& b) {
    if (a.with->subject != b.with->subject) return a.with->subject < b.with->subject;
    return a.with->work.new_tokens < b.with->work.new_tokens;
  });
  std::vector<std::string> lines;
  for (std::size_t start = 0, end = 0; start < lengths.size(); start = end) {
    const auto of_this = [&](const CachePair& pair) {
      return pair.with->subject == lengths[start].with->subject;
    };
    while (end < lengths.size() && of_this(lengths[end])) ++end;
    if (end - start < 2) continue;
    std::size_t from = end;
    while (from > start && lengths[from - 1].time_ratio() > 1) --from;
    const std::string heads = heads_text(*lengths[start].with);
    lines.push_back(
        from == end
            ? fmt::format("crossover, {}: none, the longest decodes no faster with the cache",
                          heads)
            : fmt::format("crossover, {}: the cache is faster from {} tokens on, of those measured",
                          heads, grouped(lengths[from].with->work.new_tokens)));
  }
  return lines;
}

}  // namespace attn
