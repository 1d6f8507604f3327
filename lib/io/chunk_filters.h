#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/hdf5_handle.h"

namespace attn {

/// One filter of a chunked dataset, in the order in which the writer applied them.
struct ChunkFilter {
  enum class Kind { kDeflate, kShuffle, kFletcher32 };
  Kind kind;
  std::size_t element_bytes = 1;  ///< what shuffle takes apart
};

/// The filters of a creation list. Throws DataError ("label is compressed with ...") for filters
/// other than these three, and for one that stands there twice: stacked deflate streams are bombs.
std::vector<ChunkFilter> chunk_filters(hid_t creation, const std::string& label);

/// Undoes the filters of one stored chunk, last first. Bit i of `skipped` says that filter i was
/// not applied to this chunk. The result has exactly `size` bytes, and no step ever makes more
/// than the next one needs; anything else is returned as a complaint ("a chunk decodes to 10
/// bytes, not 96").
///
/// The library's own path is not used: 1.10.8 does not check that a chunk inflates to its size, so
/// that a 4 KB file makes H5Dread read past its buffer.
struct DecodedChunk {
  std::vector<std::byte> bytes;
  std::optional<std::string> complaint;
};
DecodedChunk decode_chunk(std::vector<std::byte> stored, std::span<const ChunkFilter> filters,
                          unsigned skipped, std::size_t size);

}  // namespace attn
