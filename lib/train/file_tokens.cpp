#include "train/file_tokens.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "io/xxh3.h"
#include "model/tokenizer_group.h"

namespace attn {
namespace {

constexpr Index kNoToken = -1;  // at the end of a shorter row

}  // namespace

FileTokens::FileTokens(Hdf5Reader reader) : reader_(std::move(reader)) {
  const DatasetInfo info = reader_.info(kDataset);
  if (info.shape.empty() || info.shape.size() > 2 || info.size == 0) {
    throw DataError(
        fmt::format("{}: {}: wanted a row of token ids or a table of them, got the shape {}",
                    name(), kDataset, shape_text(info.shape)));
  }
  rows_ = info.shape[0];
  columns_ = info.shape.size() == 2 ? info.shape[1] : 0;
  look_through();
  tokenizer_ = read_tokenizer(reader_, static_cast<Index>(counts_.size()), kDataset);
}

void FileTokens::read(Index first, Index count, Index* out) const {
  reader_.read_rows<Index>(kDataset, first, count, out);
}

void FileTokens::look_through() {
  constexpr Index kBlock = Index{1} << 16;  // ids, unless a single row has more
  const auto stated = reader_.int_attribute(kDataset, "vocab_size");
  const Index most = stated.value_or(kMostIds);
  if (most < 1 || most > kMostIds) {
    throw DataError(fmt::format("{}: {}: vocab_size must be between 1 and {}: got {}", name(),
                                kDataset, kMostIds, most));
  }
  if (stated) counts_.assign(static_cast<std::size_t>(most), 0);
  const Index width = std::max<Index>(columns_, 1);
  const Index rows_at_once = std::max<Index>(1, kBlock / width);
  std::vector<Index> block(static_cast<std::size_t>(rows_at_once * width));
  Xxh3 digest;
  digest.add(shape_text({rows_, columns_}));
  for (Index first = 0; first < rows_; first += rows_at_once) {
    const Index rows = std::min(rows_at_once, rows_ - first);
    const std::span<Index> ids(block.data(), static_cast<std::size_t>(rows * width));
    read(first, rows, ids.data());
    digest.add(std::as_bytes(ids));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const Index id = ids[i];
      const auto column = static_cast<Index>(i) % width;
      // A row's end may be empty, but nothing comes after.
      if (id == kNoToken && columns_ > 0) continue;
      const bool after_end = columns_ > 0 && column > 0 && ids[i - 1] == kNoToken;
      if (id < 0 || id >= most || after_end) {
        throw DataError(fmt::format(
            "{}: {}: {}, {}", name(), kDataset,
            columns_ > 0
                ? fmt::format("row {}, column {}", first + static_cast<Index>(i) / width, column)
                : fmt::format("place {}", first + static_cast<Index>(i)),
            after_end ? "a token after the row's end (-1)"
                      : fmt::format("the id {} is not within 0 to {}", id, most - 1)));
      }
      if (id >= static_cast<Index>(counts_.size()))
        counts_.resize(static_cast<std::size_t>(id + 1));
      ++counts_[static_cast<std::size_t>(id)];
    }
  }
  if (counts_.empty()) throw DataError(fmt::format("{}: {}: no token", name(), kDataset));
  digest_ = "xxh3-128:" + digest.text();
}

std::vector<Index> FileTokenRows::tokens(Index document) const {
  std::vector<Index> row(static_cast<std::size_t>(tokens_->columns()));
  tokens_->read(document, 1, row.data());
  row.erase(std::find(row.begin(), row.end(), kNoToken), row.end());
  return row;
}

std::string FileTokenRows::where(Index document) const {
  return fmt::format("{}: {}: row {}", tokens_->name(), FileTokens::kDataset, document);
}

}  // namespace attn
