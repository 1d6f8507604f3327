// How a dataset's numbers are found and decoded, row by row; stored_dataset.cpp has checked what
// its header declares.

#include "io/stored_dataset.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "io/convert.h"
#include "io/crash_guard.h"
#include "io/hdf5_errors.h"
#include "io/hdf5_library.h"
#include "io/tensor_summary.h"

namespace attn {

Index StoredDataset::row_size() const {
  return size_ == 0 ? 0 : size_ / rows();
}

template <class T>
void StoredDataset::convert_run(const std::byte* from, Index count, T* out, Index position) const {
  Index done = 0;
  while (done < count) {
    constexpr Index kPiece = Index{1} << 24;
    const Index piece = std::min(count - done, kPiece);
    renew_crash_guard();  // a large tensor may take its time
    const Index converted =
        convert(type_, from + static_cast<std::size_t>(done) * type_.size, piece, out + done);
    done += converted;
    if (converted < piece) break;
  }
  if (done == count) return;
  double value = 0;
  static_cast<void>(convert(type_, from + static_cast<std::size_t>(done) * type_.size, 1, &value));
  throw DataError(fmt::format("{} holds {} at {}, want whole numbers from {} to {}", label_, value,
                              shape_text(position_of(position + done, shape_)),
                              std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()));
}

template <class T>
void StoredDataset::read_rows(Index first, Index count, T* out) const {
  const Index row = row_size();
  if (count == 0 || row == 0) return;
  const Index start = first * row;
  const Index total = count * row;
  if (!chunked_ && !data_.empty()) {
    convert_run(data_.data() + static_cast<std::size_t>(start) * type_.size, total, out, start);
    return;
  }
  if (!chunked_) {
    T fill{};
    convert_run(fill_.data(), 1, &fill, start);
    std::fill_n(out, total, fill);
    return;
  }
  T fill{};
  bool fill_known = false;
  visit_chunks(first, count, [&](const std::byte* from, Index run, Index target) {
    T* into = out + (target - start);
    if (from != nullptr) return convert_run(from, run, into, target);
    if (!fill_known) convert_run(fill_.data(), 1, &fill, target);
    fill_known = true;
    std::fill_n(into, run, fill);
  });
}

template <class T>
void StoredDataset::read_runs(Index first, Index run, Index stride, Index runs, T* out) const {
  if (run == 0 || runs == 0) return;
  const Index last = first + (runs - 1) * stride + run;
  require_shape(in_one_piece() && first >= 0 && run > 0 && stride >= run && last <= size_,
                "read_runs: numbers outside the dataset, or not in one piece");
  if (stride == run) {
    convert_run(data_.data() + static_cast<std::size_t>(first) * type_.size, run * runs, out,
                first);
    return;
  }
  for (Index n = 0; n < runs; ++n) {
    const Index at = first + n * stride;
    convert_run(data_.data() + static_cast<std::size_t>(at) * type_.size, run, out + n * run, at);
  }
}

std::span<const std::byte> StoredDataset::raw(std::vector<std::byte>& buffer) const {
  if (!chunked_ && !data_.empty()) return data_;
  buffer.resize(static_cast<std::size_t>(size_) * type_.size);
  const auto put = [&](const std::byte* from, Index run, Index target) {
    std::byte* into = buffer.data() + static_cast<std::size_t>(target) * type_.size;
    const std::size_t bytes = static_cast<std::size_t>(run) * type_.size;
    if (from != nullptr) {
      std::memcpy(into, from, bytes);
      return;
    }
    for (std::size_t i = 0; i < bytes; i += type_.size) {
      std::memcpy(into + i, fill_.data(), type_.size);
    }
  };
  if (chunked_) {
    visit_chunks(0, rows(), put);
  } else {
    put(nullptr, size_, 0);
  }
  return buffer;
}

// Calls put(from, run, target) for runs of stored elements that lie in the rows; target is the
// row-major position of the first, from is null where no chunk was ever written.
template <class Put>
void StoredDataset::visit_chunks(Index first, Index count, const Put& put) const {
  const std::size_t rank = shape_.size();
  Shape begin(rank);
  begin[0] = first - first % chunks_.extents[0];
  Shape at = begin;
  while (true) {
    renew_crash_guard();
    visit_chunk(at, first, count, put);
    // The next chunk, the last axis fastest.
    std::size_t axis = rank;
    while (true) {
      if (axis == 0) return;
      --axis;
      at[axis] += chunks_.extents[axis];
      if (at[axis] < (axis == 0 ? first + count : shape_[axis])) break;
      at[axis] = begin[axis];
    }
  }
}

std::vector<std::byte> StoredDataset::stored_chunk(const Shape& at, bool& present) const {
  std::array<hsize_t, kMostAxes> offset = {};
  bool over_edge = false;
  for (std::size_t i = 0; i < at.size(); ++i) {
    offset[i] = static_cast<hsize_t>(at[i]);
    over_edge = over_edge || at[i] + chunks_.extents[i] > shape_[i];
  }
  hsize_t stored_size = 0;
  // The library tells a chunk that was never written from a damaged index by its words alone.
  if (H5Dget_chunk_storage_size(object_.get(), offset.data(), &stored_size) < 0 &&
      library_error() != "chunk storage is not allocated") {
    fail_damaged(label_);
  }
  present = stored_size > 0;
  if (!present) return {};
  // Incompressible data grows a little; more than that is no honest chunk.
  const std::size_t most = chunks_.bytes + chunks_.bytes / 8 + 4096;
  if (stored_size > most) {
    throw DataError(fmt::format("{}: a chunk of {} bytes is stored in {}; refused", label_,
                                chunks_.bytes, stored_size));
  }
  std::vector<std::byte> stored(static_cast<std::size_t>(stored_size));
  std::uint32_t skipped = 0;
  if (H5Dread_chunk(object_.get(), H5P_DEFAULT, offset.data(), &skipped, stored.data()) < 0) {
    fail_damaged(label_);
  }
  if (over_edge && !chunks_.whole_edges_filtered) skipped = ~0U;
  DecodedChunk chunk = decode_chunk(std::move(stored), chunks_.filters, skipped, chunks_.bytes);
  if (chunk.complaint) throw DataError(label_ + ": " + *chunk.complaint);
  return std::move(chunk.bytes);
}

template <class Put>
void StoredDataset::visit_chunk(const Shape& at, Index first, Index count, const Put& put) const {
  bool present = false;
  const std::vector<std::byte> bytes = stored_chunk(at, present);
  const std::size_t rank = shape_.size();
  Shape from = at;
  Shape to(rank);
  for (std::size_t i = 0; i < rank; ++i) to[i] = std::min(at[i] + chunks_.extents[i], shape_[i]);
  from[0] = std::max(from[0], first);
  to[0] = std::min(to[0], first + count);
  const std::size_t last = rank - 1;
  const Index run = to[last] - from[last];
  Shape here = from;
  while (true) {
    Index source = 0;
    Index target = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      source = source * chunks_.extents[i] + (here[i] - at[i]);
      target = target * shape_[i] + here[i];
    }
    put(present ? bytes.data() + static_cast<std::size_t>(source) * type_.size : nullptr, run,
        target);
    std::size_t axis = last;
    while (true) {
      if (axis == 0) return;
      --axis;
      if (++here[axis] < to[axis]) break;
      here[axis] = from[axis];
    }
  }
}

template void StoredDataset::read_runs(Index, Index, Index, Index, double*) const;
template void StoredDataset::read_rows(Index, Index, float*) const;
template void StoredDataset::read_rows(Index, Index, double*) const;
template void StoredDataset::read_rows(Index, Index, std::int64_t*) const;
template void StoredDataset::read_rows(Index, Index, std::uint64_t*) const;
template void StoredDataset::read_rows(Index, Index, std::int32_t*) const;
template void StoredDataset::read_rows(Index, Index, std::uint8_t*) const;

}  // namespace attn
