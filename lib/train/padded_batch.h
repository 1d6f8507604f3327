#pragma once

#include <span>

#include "train/data_source.h"

namespace attn {

/// One sequence before it is padded.
struct BatchRow {
  std::vector<Index> ids;
  std::vector<Index> targets;  // as many
  std::vector<Index> source;   // of an encoder-decoder
};

/// Rows one under another, shorter ones filled up on the right with `pad`, which is hidden and has
/// no targets. Where all are equally long there is no mask. At least one row; either all have a
/// source or none.
Batch padded_batch(std::span<const BatchRow> rows, Index pad);

}  // namespace attn
