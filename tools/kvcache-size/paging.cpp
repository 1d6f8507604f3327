#include "kvcache-size/paging.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/counted.h"
#include "core/error.h"
#include "core/text.h"
#include "kvcache-size/table.h"
#include "lengths.h"
#include "sizing/paging.h"

namespace attn {
namespace {

using cli::Json;
using cli::Table;

constexpr Index kMostLengths = 10'000'000;

}  // namespace

void report_paging(const SizeGrid& grid, const SizeOptions& o, cli::Session& session) {
  const CacheSpec& spec = grid.shapes.front();
  const Index token = token_bytes(spec, grid.types.front());
  if (is_distribution(o.lengths) && o.max_length == 0) {
    throw UsageError(
        "--max-length is missing: where contiguous buffers end, and the longest sequence");
  }
  const std::vector<Index> lengths =
      asked_lengths(o.lengths, o.sequences, o.max_length, o.seed, o.max_bytes);
  if (static_cast<Index>(lengths.size()) > kMostLengths) {
    throw UsageError(fmt::format("--lengths has more than {} sequences", grouped(kMostLengths)));
  }
  const Index longest =
      o.max_length > 0 ? o.max_length : *std::max_element(lengths.begin(), lengths.end());
  const auto ways = reservations(lengths, longest, o.page_sizes, o.shared_prefix);
  const auto bytes_text = [&](Index tokens) {
    const auto bytes = checked_mul(tokens, token);
    return bytes ? short_size_text(*bytes) : std::string("-");
  };
  Index sum = 0;
  for (const Index length : lengths) sum += length;
  const double mean = static_cast<double>(sum) / static_cast<double>(lengths.size());
  session.did(fmt::format("reserved room for {} in {}", counted(std::ssize(lengths), "sequence"),
                          counted(std::ssize(ways), "way")));
  TableAnswer answer{
      .before = fmt::format("{} sequences, {:.1f} tokens on average, at most {}; {} a token\n\n",
                            grouped(static_cast<Index>(lengths.size())), mean, grouped(longest),
                            short_size_text(token)),
      .people = Table({{"reserved by", Table::Align::kLeft},
                       {"reserved"},
                       {"used"},
                       {"waste"},
                       {"of it used"},
                       {"table entries"}}),
      .program = Table({{"way"},
                        {"page"},
                        {"reserved_tokens"},
                        {"used_tokens"},
                        {"waste"},
                        {"table_entries"},
                        {"token_bytes"}})};
  Json results = Json::array();
  for (const Reservation& way : ways) {
    answer.people.add({way.name, bytes_text(way.reserved), bytes_text(way.used),
                       fmt::format("{:.1f} %", 100 * way.waste()),
                       fmt::format("{:.1f} %", 100 * (1 - way.waste())), grouped(way.table)});
    answer.program.add({way.name, fmt::format("{}", way.page), fmt::format("{}", way.reserved),
                        fmt::format("{}", way.used), fmt::format("{}", way.waste()),
                        fmt::format("{}", way.table), fmt::format("{}", token)});
    results.push_back({{"way", way.name},
                       {"page", way.page},
                       {"reserved_tokens", way.reserved},
                       {"used_tokens", way.used},
                       {"waste", way.waste()},
                       {"table_entries", way.table},
                       {"token_bytes", token}});
  }
  answer.json = {{"sequences", lengths.size()}, {"mean_tokens", mean}, {"results", results}};
  write_answer(answer, o.format, session.report());
}

}  // namespace attn
