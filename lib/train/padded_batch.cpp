#include "train/padded_batch.h"

#include <algorithm>

#include "core/error.h"
#include "ops/cross_entropy.h"

namespace attn {
namespace {

Index length(const std::vector<Index>& tokens) {
  return static_cast<Index>(tokens.size());
}

// The named column of all rows, padded to `longest`, and its mask.
void fill(std::span<const BatchRow> rows, std::vector<Index> BatchRow::*column, Index longest,
          Index pad, std::vector<Index>& values, std::vector<std::uint8_t>* mask) {
  const std::size_t all = rows.size() * static_cast<std::size_t>(longest);
  values.assign(all, pad);
  bool equal = true;
  auto at = values.begin();
  for (const BatchRow& row : rows) {
    std::copy((row.*column).begin(), (row.*column).end(), at);
    equal = equal && length(row.*column) == longest;
    at += longest;
  }
  if (mask == nullptr || equal) return;
  mask->assign(all, 0);
  auto shown = mask->begin();
  for (const BatchRow& row : rows) {
    std::fill_n(shown, (row.*column).size(), std::uint8_t{1});
    shown += longest;
  }
}

}  // namespace

Batch padded_batch(std::span<const BatchRow> rows, Index pad) {
  require_shape(!rows.empty(), "padded_batch: no rows");
  Batch batch;
  batch.batch = static_cast<Index>(rows.size());
  for (const BatchRow& row : rows) {
    require_shape(row.targets.size() == row.ids.size(), "padded_batch: ids without targets");
    batch.seq_len = std::max(batch.seq_len, length(row.ids));
    batch.source_len = std::max(batch.source_len, length(row.source));
  }
  fill(rows, &BatchRow::ids, batch.seq_len, pad, batch.ids, &batch.key_mask);
  fill(rows, &BatchRow::targets, batch.seq_len, kIgnoreIndex, batch.targets, nullptr);
  fill(rows, &BatchRow::source, batch.source_len, pad, batch.source, &batch.source_mask);
  return batch;
}

}  // namespace attn
