// Mistakes about keys and values in pages: how the rows of a page are read.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "check/mistakes/suppositions_pages.h"
#include "check/reference/tensor_layout.h"

namespace attn {
namespace {

using Problem = AttentionProblem;

// Positions are split by another size of page than the pool has.
void suppose_page_sizes(SuppositionList& list) {
  const KeyPages& given = *list.problem().pages;
  const Index size = given.page_size();
  for (const Index wrong : {size / 2, size * 2, size - 1, size + 1}) {
    if (wrong < 1 || wrong == size) continue;
    for (const bool stride_too : {false, true}) {
      list.seen("page-size",
                [wrong, stride_too](Problem& p) {
                  const auto box = rows_in_pages(p);
                  if (!box) return;
                  // Rows one by one: a pool whose pages have one row each.
                  const Index right = p.pages->page_size();
                  KeyPages rows;
                  rows.packed = p.pages->packed;
                  rows.lens = p.pages->lens;
                  const auto as_rows = [&](const Tensor<double>& pool) {
                    Tensor<double> flat = swap_layout(pool);
                    flat.shape = {pool.dim(0) * right, pool.dim(1), 1, pool.dim(3)};
                    return flat;
                  };
                  rows.k = as_rows(p.pages->k);
                  rows.v = as_rows(p.pages->v);
                  rows.table = Tensor<Index>({p.pages->sequences(), 0});
                  const Index stride = stride_too ? wrong : right;
                  const auto row_of = [&p, wrong, stride](const KeyPages&, Index b, Index j) {
                    const Index page = page_by_table(*p.pages, b, j / wrong);
                    return page < 0 ? -1 : page * stride + j % wrong;
                  };
                  p.k = gathered(rows, rows.k, *box, row_of);
                  p.v = gathered(rows, rows.v, *box, row_of);
                })
          .says(
              fmt::format("key j is read from page j / {} of its table where pages have {} rows{}",
                          wrong, size, stride_too ? ", and pages are as far apart" : ""))
          .alone();
    }
  }
}

// A page's rows and heads taken for each other: (rows, heads) in memory read as (heads, rows), or
// the other way round.
Tensor<double> exchanged(const Tensor<double>& pool, bool rows_first) {
  Tensor<double> wrong = pool;
  const Index heads = pool.dim(1);
  const Index rows = pool.dim(2);
  const Index features = pool.dim(3);
  for (Index page = 0; page < pool.dim(0); ++page) {
    const Index start = page * heads * rows;
    for (Index h = 0; h < heads; ++h) {
      for (Index r = 0; r < rows; ++r) {
        const Index line = rows_first ? h * rows + r : r * heads + h;
        const Index from = rows_first ? line % heads * rows + line / heads : line;
        std::copy_n(pool.data() + (start + from) * features, features,
                    wrong.data() + (start + h * rows + r) * features);
      }
    }
  }
  return wrong;
}

void suppose_page_layouts(SuppositionList& list) {
  const KeyPages& given = *list.problem().pages;
  if (given.kv_heads() < 2 || given.page_size() < 2) return;
  for (const bool rows_first : {true, false}) {
    for (const PagePools& pools : kPagePools) {
      list.seen("head-layout",
                [rows_first, pools](Problem& p) {
                  const auto box = rows_in_pages(p);
                  if (!box) return;
                  const KeyPages& pages = *p.pages;
                  if (pools.k) {
                    p.k = gathered(pages, exchanged(pages.k, rows_first), *box, page_by_table);
                  }
                  if (pools.v) {
                    p.v = gathered(pages, exchanged(pages.v, rows_first), *box, page_by_table);
                  }
                })
          .says(fmt::format("{}pages are {} in memory, read as {}", pools.text,
                            rows_first ? "(page_size, kv_heads)" : "(kv_heads, page_size)",
                            rows_first ? "(kv_heads, page_size)" : "(page_size, kv_heads)"))
          .alone();
    }
  }
}

// Keys beyond a sequence's length, to the end of its last page or of its row of the table.
void suppose_tails(SuppositionList& list) {
  const KeyPages& given = *list.problem().pages;
  if (given.packed || list.problem().cut || list.problem().mask) return;
  const auto longer = [&list](const char* text, auto length_of) {
    list.seen("padding-ignored",
              [length_of](Problem& p) {
                if (!p.pages || p.cut || p.mask || p.kv_lens.empty()) return;
                const KeyPages& pages = *p.pages;
                Index keys = p.kv_len();
                for (std::size_t b = 0; b < p.kv_lens.size(); ++b) {
                  p.kv_lens[b] = length_of(pages, static_cast<Index>(b));
                  keys = std::max(keys, p.kv_lens[b]);
                }
                const KeyBox box = all_keys(pages, keys);
                p.k = gathered(pages, pages.k, box, page_by_table);
                p.v = gathered(pages, pages.v, box, page_by_table);
              })
        .says(text)
        .alone();
  };
  longer("each sequence is read to the end of its last page",
         [](const KeyPages& pages, Index b) { return pages.blocks_of(b) * pages.page_size(); });
  longer("each sequence is read to the end of its row of block_table",
         [](const KeyPages& pages, Index) { return pages.blocks() * pages.page_size(); });
}

}  // namespace

void suppose_page_rows(SuppositionList& list) {
  suppose_page_sizes(list);
  suppose_page_layouts(list);
  suppose_tails(list);
}

std::optional<KeyBox> rows_in_pages(const Problem& problem) {
  if (!problem.pages) return std::nullopt;
  KeyBox box{0, problem.batch(), 0, problem.kv_heads(), 0, problem.kv_len()};
  if (problem.cut) {
    box.sequence = problem.cut->first_sequence;
    box.kv_head = problem.cut->first_kv_head;
    box.key = problem.cut->first_key;
  }
  if (box.kv_head + box.kv_heads > problem.pages->kv_heads()) return std::nullopt;
  return box;
}

}  // namespace attn
