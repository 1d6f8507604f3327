#include "check/reference/key_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "check/reference/tensor_layout.h"
#include "core/ceil_div.h"
#include "core/error.h"
#include "core/text.h"

namespace attn {

namespace {

[[noreturn]] void refuse(const char* want, const Shape& shape) {
  throw DataError(fmt::format("want {}, got shape {}", want, shape_text(shape)));
}

// (pages, heads, columns, rows) to (pages, heads, rows, columns).
Tensor<double> transposed_pages(const Tensor<double>& from) {
  const Index columns = from.dim(2);
  const Index rows = from.dim(3);
  Tensor<double> to({from.dim(0), from.dim(1), rows, columns});
  for (Index page = 0; page < from.dim(0) * from.dim(1); ++page) {
    const Index start = page * rows * columns;
    for (Index r = 0; r < rows; ++r) {
      for (Index c = 0; c < columns; ++c) {
        to.data()[start + r * columns + c] = from.data()[start + c * rows + r];
      }
    }
  }
  return to;
}

// (pages, heads, features / x, rows, x) to (pages, heads, rows, features).
Tensor<double> joined_features(const Tensor<double>& from) {
  const Index groups = from.dim(2);
  const Index rows = from.dim(3);
  const Index each = from.dim(4);
  Tensor<double> to({from.dim(0), from.dim(1), rows, groups * each});
  for (Index page = 0; page < from.dim(0) * from.dim(1); ++page) {
    const Index start = page * rows * groups * each;
    for (Index g = 0; g < groups; ++g) {
      for (Index r = 0; r < rows; ++r) {
        std::copy_n(from.data() + start + (g * rows + r) * each, each,
                    to.data() + start + (r * groups + g) * each);
      }
    }
  }
  return to;
}

// Where a row of the packed sequences stands: its sequence and its number in it.
std::pair<Index, Index> in_its_sequence(const std::vector<Index>& starts, Index row) {
  const auto next = std::upper_bound(starts.begin(), starts.end(), row) - starts.begin();
  return {next - 1, row - starts[static_cast<std::size_t>(next - 1)]};
}

}  // namespace

std::optional<PagesLayout> parse_pages_layout(std::string_view word) {
  std::string plain(word);
  for (char& c : plain) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (plain == "nhd") return PagesLayout::kNhd;
  if (plain == "hnd") return PagesLayout::kHnd;
  if (plain == "vllm") return PagesLayout::kVllm;
  return std::nullopt;
}

const char* pages_layout_name(PagesLayout layout) {
  switch (layout) {
    case PagesLayout::kNhd:
      return "NHD";
    case PagesLayout::kHnd:
      return "HND";
    case PagesLayout::kVllm:
      break;
  }
  return "VLLM";
}

Tensor<double> to_pages(Tensor<double> pool, PagesLayout layout) {
  Shape& shape = pool.shape;
  const Shape stored = shape;
  if (layout == PagesLayout::kVllm) {
    if (shape.size() == 5) return joined_features(pool);
    if (shape.size() == 4) return transposed_pages(pool);
    refuse("(pages, kv_heads, head_dim/x, page_size, x) or (pages, kv_heads, features, page_size)",
           stored);
  }
  const bool rows_first = layout == PagesLayout::kNhd;
  if (shape.size() == 3) shape.insert(shape.begin() + (rows_first ? 2 : 1), 1);
  if (shape.size() != 4) {
    refuse(rows_first ? "(pages, page_size, kv_heads, features)"
                      : "(pages, kv_heads, page_size, features)",
           stored);
  }
  return rows_first ? swap_layout(pool) : std::move(pool);
}

KeyBox all_keys(const KeyPages& pages, Index keys) {
  return {0, pages.packed ? 1 : pages.sequences(), 0, pages.kv_heads(), 0, keys};
}

Index page_by_table(const KeyPages& pages, Index sequence, Index block) {
  return block < pages.blocks() ? pages.page_at(sequence, block) : -1;
}

Tensor<double> gathered(const KeyPages& pages, const Tensor<double>& pool, const KeyBox& box,
                        const PageOf& page_of) {
  const Index size = pages.page_size();
  const Index features = pool.dim(3);
  const std::vector<Index> starts = pages.packed ? packed_starts(pages.lens) : std::vector<Index>();
  Tensor<double> rows({box.sequences, box.kv_heads, box.keys, features});
  for (Index b = 0; b < box.sequences; ++b) {
    for (Index j = 0; j < box.keys; ++j) {
      Index sequence = box.sequence + b;
      Index row = box.key + j;
      if (pages.packed) std::tie(sequence, row) = in_its_sequence(starts, row);
      if (sequence >= pages.sequences()) continue;
      const Index page = page_of(pages, sequence, row / size);
      if (page < 0 || page >= pages.pages()) continue;
      for (Index h = 0; h < box.kv_heads; ++h) {
        const Index from = ((page * pages.kv_heads() + box.kv_head + h) * size + row % size);
        std::copy_n(pool.data() + from * features, features,
                    rows.data() + ((b * box.kv_heads + h) * box.keys + j) * features);
      }
    }
  }
  return rows;
}

KeyPages scattered(const Tensor<double>& k, const Tensor<double>& v, std::vector<Index> lens,
                   Index page_size, Rng& rng) {
  KeyPages pages;
  pages.lens = std::move(lens);
  const Index batch = k.dim(0);
  pages.table = Tensor<Index>({batch, ceil_div(k.dim(2), page_size) + 1});
  std::fill(pages.table.values.begin(), pages.table.values.end(), -1);
  pages.k = Tensor<double>({0, k.dim(1), page_size, k.dim(3)});  // says what blocks_of asks
  Index needed = 0;
  for (Index b = 0; b < batch; ++b) needed += pages.blocks_of(b);
  std::vector<Index> order(static_cast<std::size_t>(needed + 2));
  std::iota(order.begin(), order.end(), Index{0});
  for (std::size_t n = order.size(); n > 1; --n) {
    std::swap(order[n - 1], order[static_cast<std::size_t>(rng.below(static_cast<Index>(n)))]);
  }
  auto page = order.begin();
  for (Index b = 0; b < batch; ++b) {
    for (Index block = 0; block < pages.blocks_of(b); ++block) {
      pages.table.data()[b * pages.blocks() + block] = *page++;
    }
  }
  const auto pool_of = [&](const Tensor<double>& rows) {
    const Index features = rows.dim(3);
    Tensor<double> pool({needed + 2, rows.dim(1), page_size, features});
    for (double& value : pool.values) value = rng.normal();
    for (Index b = 0; b < batch; ++b) {
      for (Index j = 0; j < pages.length(b); ++j) {
        const Index at = pages.page_at(b, j / page_size) * rows.dim(1);
        for (Index h = 0; h < rows.dim(1); ++h) {
          std::copy_n(rows.data() + ((b * rows.dim(1) + h) * rows.dim(2) + j) * features, features,
                      pool.data() + ((at + h) * page_size + j % page_size) * features);
        }
      }
    }
    return pool;
  };
  pages.k = pool_of(k);
  pages.v = pool_of(v);
  return pages;
}

std::vector<Index> packed_starts(const std::vector<Index>& lens) {
  std::vector<Index> starts = {0};
  for (const Index length : lens) starts.push_back(starts.back() + length);
  return starts;
}

}  // namespace attn
