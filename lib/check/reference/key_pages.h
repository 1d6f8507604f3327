#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/ceil_div.h"
#include "core/rng.h"
#include "core/tensor.h"

namespace attn {

/// Keys and values in pages of one pool, as servers cache them (Kwon et al. 2023,
/// arXiv:2309.06180): row j of a sequence is row j % page_size of page table[j / page_size].
struct KeyPages {
  Tensor<double> k;         // (pages, kv_heads, page_size, head_dim)
  Tensor<double> v;         // (pages, kv_heads, page_size, value_dim)
  Tensor<Index> table;      // (sequences, blocks): numbers of pages; anything beyond the length
  std::vector<Index> lens;  // (sequences): keys of each
  bool packed = false;      // the sequences stand one behind another, and not in a batch

  Index pages() const { return k.dim(0); }
  Index kv_heads() const { return k.dim(1); }
  Index page_size() const { return k.dim(2); }
  Index sequences() const { return table.dim(0); }
  Index blocks() const { return table.dim(1); }
  Index length(Index sequence) const { return lens[static_cast<std::size_t>(sequence)]; }
  /// Pages that a sequence's keys stand in.
  Index blocks_of(Index sequence) const { return ceil_div(length(sequence), page_size()); }
  /// What the table says, wherever it says anything.
  Index page_at(Index sequence, Index block) const {
    return table.data()[sequence * blocks() + block];
  }
};

/// How the axes of a pool are stored.
enum class PagesLayout {
  kNhd,   ///< (pages, page_size, kv_heads, features): FlashAttention, vLLM, FlashInfer's NHD
  kHnd,   ///< (pages, kv_heads, page_size, features): TensorRT-LLM, FlashInfer's HND
  kVllm,  ///< k (pages, kv_heads, head_dim / x, page_size, x), v (pages, kv_heads, value_dim,
          ///< page_size): vLLM's own kernels
};

/// By its name, "NHD" or "nhd" ...; nothing for another word.
std::optional<PagesLayout> parse_pages_layout(std::string_view word);
/// "NHD" ..., as files spell it.
const char* pages_layout_name(PagesLayout layout);

/// The pool of keys or of values as KeyPages has it. Of fewer axes than four (five for vLLM's keys)
/// the axis of heads is missing: there is one. Throws DataError for axes that a layout does not
/// have.
Tensor<double> to_pages(Tensor<double> pool, PagesLayout layout);

/// Which of the keys: sequences, key-value heads and rows from these on. Of packed sequences the
/// rows are those of all, one behind another, and `sequence` says nothing.
struct KeyBox {
  Index sequence = 0, sequences = 0;
  Index kv_head = 0, kv_heads = 0;
  Index key = 0, keys = 0;
};

/// All keys of a batch, `keys` of each sequence; or of the packed sequences.
KeyBox all_keys(const KeyPages& pages, Index keys);

/// The page that block `block` of a sequence is read from; outside of the pool for none.
using PageOf = std::function<Index(const KeyPages& pages, Index sequence, Index block)>;

/// What the table says; no page beyond it.
Index page_by_table(const KeyPages& pages, Index sequence, Index block);

/// Rows of a pool (pages.k or pages.v) in linear memory, (batch, kv_heads, keys, features); zeros
/// where there is no page.
Tensor<double> gathered(const KeyPages& pages, const Tensor<double>& pool, const KeyBox& box,
                        const PageOf& page_of);

/// Keys and values of (batch, kv_heads, rows, features) put into a pool of shuffled pages, with two
/// more than are needed; random numbers where no key of these stands, -1 where the table ends.
KeyPages scattered(const Tensor<double>& k, const Tensor<double>& v, std::vector<Index> lens,
                   Index page_size, Rng& rng);

/// 0 and the end of each packed sequence.
std::vector<Index> packed_starts(const std::vector<Index>& lens);

}  // namespace attn
