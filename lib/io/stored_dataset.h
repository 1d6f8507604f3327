#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor.h"
#include "io/chunk_filters.h"
#include "io/stored_type.h"

namespace attn {

/// A dataset of numbers in an image: what its header declares, checked against the bytes that
/// are there, and its numbers row by row.
class StoredDataset {
 public:
  /// Takes an open object. `label` is "input: /path". Throws DataError unless it is a dataset of
  /// numbers that may be read and whose declared bytes stay under `max_bytes`.
  StoredDataset(ObjectId object, std::string label, std::span<const std::byte> image,
                Index max_bytes);

  const std::string& label() const { return label_; }
  const Shape& shape() const { return shape_; }
  Index size() const { return size_; }
  const StoredType& type() const { return type_; }

  /// Rows first .. first + count - 1 along the first axis (a scalar is one row). A chunk is decoded
  /// for each call that needs it.
  template <class T>
  void read_rows(Index first, Index count, T* out) const;

  /// True where the file holds all numbers in one piece, in row-major order.
  bool in_one_piece() const { return !chunked_ && !data_.empty(); }
  /// Where numbers first .. first + count - 1 of a dataset in one piece stand, and how many bytes.
  std::pair<const std::byte*, Index> bytes_of(Index first, Index count) const {
    return {data_.data() + static_cast<std::size_t>(first) * type_.size,
            count * static_cast<Index>(type_.size)};
  }
  /// `runs` runs of `run` numbers of a dataset in one piece, `stride` apart, from number `first`
  /// on.
  template <class T>
  void read_runs(Index first, Index run, Index stride, Index runs, T* out) const;

  /// All numbers as they are stored, in row-major order. `buffer` is used where the file does not
  /// hold them in one piece.
  std::span<const std::byte> raw(std::vector<std::byte>& buffer) const;

  /// Elements of one row.
  Index row_size() const;
  Index rows() const { return shape_.empty() ? 1 : shape_.front(); }

 private:
  static constexpr int kMostAxes = 8;

  struct Chunking {
    Shape extents;
    std::size_t bytes = 0;
    std::vector<ChunkFilter> filters;
    bool whole_edges_filtered = true;  ///< chunks over the edge go through the filters too
  };

  void read_type();
  void read_shape(Index max_bytes);
  void refuse_matlab_empty();
  void read_layout(Index max_bytes, std::span<const std::byte> image);
  void read_contiguous(std::span<const std::byte> image);
  void read_compact();
  void read_chunking(hid_t creation, Index max_bytes);
  void read_fill_value(hid_t creation);
  std::vector<std::byte> stored_chunk(const Shape& at, bool& present) const;
  template <class Put>
  void visit_chunks(Index first, Index count, const Put& put) const;
  template <class Put>
  void visit_chunk(const Shape& at, Index first, Index count, const Put& put) const;
  template <class T>
  void convert_run(const std::byte* from, Index count, T* out, Index position) const;

  ObjectId object_;
  std::string label_;
  StoredType type_;
  Shape shape_;
  Index size_ = 0;
  std::span<const std::byte> data_;  ///< contiguous or compact numbers; empty if never written
  std::vector<std::byte> compact_;
  std::vector<std::byte> fill_;  ///< one stored element
  bool chunked_ = false;
  Chunking chunks_;
};

}  // namespace attn
