// Mistakes about keys and values in pages: which page a block is read from.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "check/mistakes/suppositions_pages.h"

namespace attn {
namespace {

using Problem = AttentionProblem;

void read_anew(Problem& problem, const PagePools& pools, const PageOf& page_of) {
  const auto box = rows_in_pages(problem);
  if (!box) return;
  const KeyPages& pages = *problem.pages;
  if (pools.k) problem.k = gathered(pages, pages.k, *box, page_of);
  if (pools.v) problem.v = gathered(pages, pages.v, *box, page_of);
}

// The pages that all blocks are read from, one sequence after another; nothing where one of them
// would be read from outside of the pool.
std::optional<std::vector<Index>> pages_read(const KeyPages& pages, const PageOf& page_of) {
  std::vector<Index> read;
  for (Index b = 0; b < pages.sequences(); ++b) {
    for (Index block = 0; block < pages.blocks_of(b); ++block) {
      const Index page = page_of(pages, b, block);
      if (page < 0 || page >= pages.pages()) return std::nullopt;
      read.push_back(page);
    }
  }
  return read;
}

// Ways of reading pages under one name, each told once: where there are few pages many are alike.
class PageReadings {
 public:
  PageReadings(SuppositionList& list, std::string name) : list_(list), name_(std::move(name)) {
    told_.insert(*pages_read(*list.problem().pages, page_by_table));
  }

  void add(const char* text, const PageOf& page_of) {
    const auto read = pages_read(*list_.problem().pages, page_of);
    if (!read || !told_.insert(*read).second) return;
    for (const PagePools& pools : kPagePools) {
      Supposition& one =
          list_.seen(name_, [pools, page_of](Problem& p) { read_anew(p, pools, page_of); })
              .says(fmt::format("{}{}", pools.text, text));
      if (!pools.k || !pools.v) one.alone();
    }
  }

 private:
  SuppositionList& list_;
  std::string name_;
  std::set<std::vector<Index>> told_;
};

// Pages of the sequences before this one.
Index pages_before(const KeyPages& pages, Index sequence) {
  Index count = 0;
  for (Index b = 0; b < sequence; ++b) count += pages.blocks_of(b);
  return count;
}

Index most_blocks(const KeyPages& pages) {
  Index most = 0;
  for (Index b = 0; b < pages.sequences(); ++b) most = std::max(most, pages.blocks_of(b));
  return most;
}

// The entry of the table at a position in memory; none beyond its end.
Index entry(const KeyPages& pages, Index at) {
  return at >= 0 && at < pages.table.size() ? pages.table.data()[at] : -1;
}

void suppose_no_table(SuppositionList& list) {
  PageReadings ignored(list, "page-table-ignored");
  ignored.add("block i of every sequence is page i of the pool",
              [](const KeyPages&, Index, Index block) { return block; });
  ignored.add(
      "sequences take the pages of the pool one after another",
      [](const KeyPages& pages, Index b, Index block) { return pages_before(pages, b) + block; });
  ignored.add(
      "each sequence takes as many pages of the pool as a row of the table has",
      [](const KeyPages& pages, Index b, Index block) { return b * pages.blocks() + block; });
  ignored.add(
      "a sequence goes on from its first page through the pool",
      [](const KeyPages& pages, Index b, Index block) { return pages.page_at(b, 0) + block; });
}

void suppose_orders(SuppositionList& list) {
  PageReadings order(list, "page-order");
  order.add("a sequence's pages are read from the last to the first",
            [](const KeyPages& pages, Index b, Index block) {
              const Index mirrored = pages.blocks_of(b) - 1 - block;
              return mirrored < 0 ? -1 : pages.page_at(b, mirrored);
            });
  order.add("a sequence's pages are read in the order of the pool",
            [](const KeyPages& pages, Index b, Index block) {
              const Index* row = pages.table.data() + b * pages.blocks();
              std::vector<Index> sorted(row, row + pages.blocks_of(b));
              std::sort(sorted.begin(), sorted.end());
              return block < pages.blocks_of(b) ? sorted[static_cast<std::size_t>(block)] : -1;
            });
  order.add("block i is read from the page of block i + 1, the last from that of block 0",
            [](const KeyPages& pages, Index b, Index block) {
              return pages.page_at(b, (block + 1) % std::max<Index>(1, pages.blocks_of(b)));
            });
  order.add("block i is read from the page of block i - 1, block 0 from that of the last",
            [](const KeyPages& pages, Index b, Index block) {
              const Index count = std::max<Index>(1, pages.blocks_of(b));
              return pages.page_at(b, (block + count - 1) % count);
            });
  order.add("every block is read from the sequence's first page",
            [](const KeyPages& pages, Index b, Index) { return pages.page_at(b, 0); });
  order.add("every block is read from the sequence's last page",
            [](const KeyPages& pages, Index b, Index) {
              return pages.page_at(b, std::max<Index>(0, pages.blocks_of(b) - 1));
            });
  order.add("the table is (batch, blocks) in memory, read as (blocks, batch)",
            [](const KeyPages& pages, Index b, Index block) {
              return entry(pages, block * pages.sequences() + b);
            });
  order.add("a row of the table is taken to be as long as the most pages of a sequence",
            [](const KeyPages& pages, Index b, Index block) {
              return entry(pages, b * most_blocks(pages) + block);
            });
  order.add("a row of the table is taken to be as long as its sequence's own pages",
            [](const KeyPages& pages, Index b, Index block) {
              return entry(pages, pages_before(pages, b) + block);
            });
  for (const Index away : {Index{1}, Index{-1}}) {
    order.add(away > 0 ? "page p + 1 is read for page p" : "page p - 1 is read for page p",
              [away](const KeyPages& pages, Index b, Index block) {
                return block < pages.blocks() ? pages.page_at(b, block) + away : -1;
              });
  }
}

void suppose_other_rows(SuppositionList& list) {
  PageReadings others(list, "batch-reuse");
  const auto row = [&others](const char* text, auto source) {
    others.add(text, [source](const KeyPages& pages, Index b, Index block) {
      return page_by_table(pages, source(b, pages.sequences()), block);
    });
  };
  row("all sequences have the block_table of sequence 0", [](Index, Index) { return Index{0}; });
  row("the block_table is of the next sequence",
      [](Index b, Index count) { return (b + 1) % count; });
  row("the block_table is of the previous sequence",
      [](Index b, Index count) { return (b + count - 1) % count; });
}

}  // namespace

void suppose_pages(SuppositionList& list) {
  if (!list.problem().pages || list.problem().pages->blocks() == 0) return;
  suppose_no_table(list);
  suppose_orders(list);
  if (list.problem().pages->sequences() > 1) suppose_other_rows(list);
  suppose_page_rows(list);
}

}  // namespace attn
