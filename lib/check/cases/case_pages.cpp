#include "check/cases/case_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/ceil_div.h"
#include "core/error.h"
#include "core/text.h"

namespace attn {

namespace {

constexpr double kMostWhole = 1e15;                // far beyond any page, and exact
constexpr Index kNoPage = -2'000'000'000'000'000;  // what was no whole number, or beyond these

// The heads that q has under the layouts that are left open.
std::vector<Index> possible_heads(const Shape& q, const CaseAttributes& attributes) {
  if (attributes.heads) return {*attributes.heads};
  std::vector<Index> heads;
  const auto of = [&](TensorLayout layout) {
    const std::size_t head_axis = layout == TensorLayout::kBhsd ? 1 : 2;
    const std::size_t missing = 4 - std::min<std::size_t>(q.size(), 4);
    heads.push_back(missing > head_axis || q.size() < 3 ? 1 : q[head_axis - missing]);
  };
  if (attributes.layout) {
    of(*attributes.layout);
  } else {
    of(TensorLayout::kBhsd);
    of(TensorLayout::kBshd);
  }
  return heads;
}

// Could a pool of these heads and rows a page hold the keys of these queries?
bool fits(Index kv_heads, Index page_size, Index blocks, Index longest,
          const std::vector<Index>& heads, const CaseAttributes& attributes) {
  if (kv_heads < 1 || page_size < 1) return false;
  if (attributes.kv_heads.value_or(kv_heads) != kv_heads) return false;
  if (attributes.page_size.value_or(page_size) != page_size) return false;
  if (blocks < ceil_div(longest, page_size)) return false;
  return std::any_of(heads.begin(), heads.end(), [&](Index all) { return all % kv_heads == 0; });
}

Tensor<Index> read_table(const CaseSource& source) {
  const Tensor<double> found = source.require("block_table").tensor;
  Tensor<Index> table;
  table.shape = found.shape;
  if (table.shape.size() == 1) table.shape.insert(table.shape.begin(), 1);
  if (table.shape.size() != 2) {
    source.complain("block_table",
                    fmt::format("want (batch, blocks), got shape {}", shape_text(found.shape)));
  }
  for (const double value : found.values) {
    // Beyond a sequence's end anything may stand: a NaN, or -1 that was written without a sign.
    const bool whole = std::abs(value) <= kMostWhole && value == std::floor(value);
    table.values.push_back(whole ? static_cast<Index>(value) : kNoPage);
  }
  return table;
}

// How many keys each sequence has.
// Nothing where nobody says.
std::vector<Index> read_lengths(const CaseSource& source, Index sequences, bool packed) {
  std::vector<Index> lens = source.integers("kv_lens");
  const char* name = "kv_lens";
  if (packed && source.has("cu_seqlens_k")) {
    const std::vector<Index> starts = source.integers("cu_seqlens_k");
    std::vector<Index> between;
    for (std::size_t n = 1; n < starts.size(); ++n) between.push_back(starts[n] - starts[n - 1]);
    if (!lens.empty() && lens != between) {
      source.complain("cu_seqlens_k", "says other lengths than kv_lens: give one of them");
    }
    lens = between;
    name = "cu_seqlens_k";
  }
  if (lens.empty()) return lens;
  if (static_cast<Index>(lens.size()) != sequences) {
    source.complain(name, fmt::format("want one length for each of {} rows of block_table, got {}",
                                      sequences, lens.size()));
  }
  for (const Index length : lens) {
    if (length < 0 || static_cast<double>(length) > kMostWhole) {
      source.complain(name, fmt::format("want lengths of 0 or more, got {}", length));
    }
  }
  return lens;
}

// Without lengths every row of every page counts, or as many as maps have columns: for tables that
// have no place left open.
std::vector<Index> full_lengths(const CaseSource& source, const KeyPages& pages, Index columns) {
  const auto& entries = pages.table.values;
  if (pages.packed ||
      std::any_of(entries.begin(), entries.end(), [](Index page) { return page < 0; })) {
    source.complain("kv_lens", "is needed with block_table: how many keys each sequence has");
  }
  const Index room[] = {pages.blocks(), pages.page_size()};
  const Index rows = columns > 0 ? columns : checked_product(room).value_or(0);
  return std::vector<Index>(static_cast<std::size_t>(pages.sequences()), rows);
}

PagesLayout settle_layout(const CaseSource::Found& k, const Tensor<Index>& table, Index longest,
                          const Shape& q, const CaseAttributes& attributes,
                          std::vector<std::string>& assumed) {
  if (attributes.pages_layout) return *attributes.pages_layout;
  const Shape& shape = k.tensor.shape;
  if (shape.size() == 5) {
    assumed.emplace_back("pages VLLM (k_pages has 5 axes)");
    return PagesLayout::kVllm;
  }
  if (shape.size() == 4) {
    const std::vector<Index> heads = possible_heads(q, attributes);
    const bool nhd = fits(shape[2], shape[1], table.dim(1), longest, heads, attributes);
    const bool hnd = fits(shape[1], shape[2], table.dim(1), longest, heads, attributes);
    if (hnd && !nhd) {
      assumed.emplace_back("pages HND (NHD does not fit)");
      return PagesLayout::kHnd;
    }
    if (hnd && nhd) {
      assumed.emplace_back("pages NHD (HND would fit as well)");
      return PagesLayout::kNhd;
    }
  }
  assumed.emplace_back("pages NHD");
  return PagesLayout::kNhd;
}

void check_table(const CaseSource& source, const KeyPages& pages) {
  for (Index b = 0; b < pages.sequences(); ++b) {
    const Index needed = pages.blocks_of(b);
    if (needed > pages.blocks()) {
      source.complain(
          "block_table",
          fmt::format("is too short: {} keys of sequence {} take {} pages of {}, and it has {}",
                      pages.length(b), b, needed, pages.page_size(), pages.blocks()));
    }
    for (Index block = 0; block < needed; ++block) {
      const Index page = pages.page_at(b, block);
      if (page >= 0 && page < pages.pages()) continue;
      if (page == kNoPage) {
        const auto place = static_cast<std::size_t>(b * pages.blocks() + block);
        const double value = source.require("block_table").tensor.values[place];
        source.complain("block_table", fmt::format("want the number of a page, got {} at ({}, {})",
                                                   value, b, block));
      }
      source.complain("block_table",
                      fmt::format("page {} at ({}, {}) is outside of the pool of {} pages", page, b,
                                  block, pages.pages()));
    }
  }
}

}  // namespace

bool has_pages(const CaseSource& source) {
  const bool paged = source.has("k_pages") || source.has("v_pages") || source.has("block_table");
  if (!paged) return false;
  for (const char* linear : {"k", "v"}) {
    if (!source.has(linear)) continue;
    source.complain(linear, fmt::format("stands beside {}_pages: want keys and values in pages, "
                                        "or one behind another",
                                        linear));
  }
  return true;
}

PagedCase read_pages(const CaseSource& source, const CaseAttributes& attributes, const Shape& q,
                     bool values_needed, Index columns) {
  PagedCase result;
  CaseSource::Found k = source.require("k_pages");
  std::optional<CaseSource::Found> v = source.find("v_pages");
  if (!v && (values_needed || !source.has_file())) v = source.require("v_pages");
  result.values_stood_in = !v;
  KeyPages pages;
  pages.table = read_table(source);
  const std::vector<Index> starts = source.integers("cu_seqlens_q");
  pages.packed = !starts.empty();
  if (pages.packed && static_cast<Index>(starts.size()) - 1 != pages.sequences()) {
    source.complain("block_table", fmt::format("want a row for each of {} packed sequences, got {}",
                                               starts.size() - 1, pages.sequences()));
  }
  pages.lens = read_lengths(source, pages.sequences(), pages.packed);
  const Index longest =
      pages.lens.empty() ? 0 : *std::max_element(pages.lens.begin(), pages.lens.end());
  const PagesLayout layout = settle_layout(k, pages.table, longest, q, attributes, result.assumed);
  const auto pool = [&](const char* name, Tensor<double> tensor) {
    try {
      return to_pages(std::move(tensor), layout);
    } catch (const DataError& error) {
      source.complain(name, error.what());
    }
  };
  pages.k = pool("k_pages", std::move(k.tensor));
  pages.v = v ? pool("v_pages", std::move(v->tensor)) : pages.k;
  const Shape want = {pages.pages(), pages.kv_heads(), pages.page_size(), pages.v.dim(3)};
  if (pages.v.shape != want) {
    source.complain("v_pages",
                    fmt::format("want as many pages, heads and rows as k_pages, {}, got {} "
                                "(pages, kv_heads, page_size, features)",
                                shape_text(want), shape_text(pages.v.shape)));
  }
  if (pages.kv_heads() < 1 || pages.page_size() < 1) {
    source.complain("k_pages", fmt::format("want at least one head and one row a page, got {} "
                                           "(pages, kv_heads, page_size, head_dim)",
                                           shape_text(pages.k.shape)));
  }
  if (attributes.page_size.value_or(pages.page_size()) != pages.page_size()) {
    source.complain("k_pages", fmt::format("page_size says {}, but a page has {} rows",
                                           *attributes.page_size, pages.page_size()));
  }
  if (pages.lens.empty()) {
    pages.lens = full_lengths(source, pages, columns);
    result.assumed.push_back(columns > 0 ? "kv_lens as many as maps have columns"
                                         : "kv_lens all rows of all pages");
  }
  check_table(source, pages);
  result.pages = std::make_shared<const KeyPages>(std::move(pages));
  return result;
}

void gather_pages(const CaseSource& source, const std::shared_ptr<const KeyPages>& pages,
                  Index keys, AttentionProblem& problem) {
  if (pages->packed) {
    problem.cu_seqlens_k = packed_starts(pages->lens);
    keys = problem.cu_seqlens_k.back();
  } else {
    problem.kv_lens = pages->lens;
    for (const Index length : pages->lens) keys = std::max(keys, length);
  }
  // A table may name one page again and again: small files could ask for much.
  const Index extents[] = {pages->packed ? 1 : pages->sequences(), pages->kv_heads(), keys,
                           pages->k.dim(3) + pages->v.dim(3), Index{sizeof(double)}};
  const auto bytes = checked_product(extents);
  if (!bytes || *bytes > source.max_bytes()) {
    source.complain("block_table",
                    fmt::format("the keys and values of its pages take {}, over the limit of {} "
                                "(--max-bytes)",
                                bytes ? size_text(*bytes) : "more than 63 bits count",
                                size_text(source.max_bytes())));
  }
  const KeyBox box = all_keys(*pages, keys);
  problem.k = gathered(*pages, pages->k, box, page_by_table);
  problem.v = gathered(*pages, pages->v, box, page_by_table);
  problem.pages = pages;
}

}  // namespace attn
