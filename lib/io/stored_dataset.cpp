#include "io/stored_dataset.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "io/hdf5_attributes.h"
#include "io/hdf5_errors.h"

namespace attn {

StoredDataset::StoredDataset(ObjectId object, std::string label, std::span<const std::byte> image,
                             Index max_bytes)
    : object_(std::move(object)), label_(std::move(label)) {
  if (H5Iget_type(object_.get()) != H5I_DATASET) {
    const bool group = H5Iget_type(object_.get()) == H5I_GROUP;
    throw DataError(
        fmt::format("{} is {}, not a dataset", label_, group ? "a group" : "a named type"));
  }
  // The order matters: 1.10.8 dies on the fill value of a hostile compound type, and asking for
  // the shape of virtual data opens other files.
  read_type();
  read_layout(max_bytes, image);
}

void StoredDataset::read_type() {
  const TypeId type(H5Dget_type(object_.get()));
  if (!type.valid()) fail_damaged(label_);
  const auto numbers = stored_type(type.get());
  if (numbers) type_ = *numbers;
  // 2-byte integers or opaque values are bfloat16 only where an attribute says so.
  const auto brain = as_bfloat16(type.get());
  if (brain && H5Aexists(object_.get(), "dtype") > 0) {
    const auto word = string_attribute(object_.get(), "dtype", label_);
    if (word && parse_dtype(*word) == DType::kBF16) {
      type_ = *brain;
      return;
    }
  }
  if (!numbers) {
    throw DataError(fmt::format("{} has type {}, want a float or integer tensor", label_,
                                type_class_name(type.get())));
  }
}

// MATLAB writes an empty array as its shape, which would pass for its values. Only where the type
// fits: looking for an attribute has the library decode them all.
void StoredDataset::refuse_matlab_empty() {
  if (type_.type != DType::kU64 || shape_.size() != 1) return;
  if (H5Aexists(object_.get(), "MATLAB_empty") <= 0) return;
  const auto empty = number_attribute<Index>(object_.get(), "MATLAB_empty", label_);
  if (empty && empty->size() == 1 && empty->front() != 0) {
    throw DataError(label_ + " is an empty MATLAB array");
  }
}

void StoredDataset::read_shape(Index max_bytes) {
  const SpaceId space(H5Dget_space(object_.get()));
  if (!space.valid()) fail_damaged(label_);
  if (H5Sget_simple_extent_type(space.get()) == H5S_NULL) {
    throw DataError(label_ + " is empty: a null dataspace, without shape or values");
  }
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (rank < 0) fail_damaged(label_);
  if (rank > kMostAxes) {
    throw DataError(fmt::format("{} has rank {}, want at most {}", label_, rank, kMostAxes));
  }
  std::array<hsize_t, kMostAxes> extents = {};
  if (H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr) < 0) fail_damaged(label_);
  const auto largest = static_cast<hsize_t>(std::numeric_limits<Index>::max());
  for (int i = 0; i < rank; ++i) {
    const hsize_t extent = extents[static_cast<std::size_t>(i)];
    if (extent > largest)
      throw DataError(fmt::format("{}: extent {} is too large", label_, extent));
    shape_.push_back(static_cast<Index>(extent));
  }
  const auto count = checked_product(shape_);
  const auto bytes = count ? checked_mul(*count, static_cast<Index>(type_.size)) : std::nullopt;
  if (!bytes) {
    throw DataError(fmt::format("{} has shape {}: too large, its size leaves 63 bits", label_,
                                shape_text(shape_)));
  }
  if (*bytes > max_bytes) {
    throw DataError(fmt::format(
        "{} has shape {} and declares {}, over the limit of {} "
        "(--max-bytes)",
        label_, shape_text(shape_), short_size_text(*bytes), short_size_text(max_bytes)));
  }
  size_ = *count;
}

void StoredDataset::read_layout(Index max_bytes, std::span<const std::byte> image) {
  const PropertyId creation(H5Dget_create_plist(object_.get()));
  if (!creation.valid()) fail_damaged(label_);
  const H5D_layout_t layout = H5Pget_layout(creation.get());
  if (layout == H5D_VIRTUAL) {
    throw DataError(label_ + " is a virtual dataset over other files; refused");
  }
  const int external = H5Pget_external_count(creation.get());
  if (external < 0) fail_damaged(label_);
  if (external > 0) throw DataError(label_ + " keeps its data in an external file; refused");
  read_shape(max_bytes);
  refuse_matlab_empty();
  read_fill_value(creation.get());
  if (layout == H5D_CONTIGUOUS) {
    read_contiguous(image);
  } else if (layout == H5D_COMPACT) {
    read_compact();
  } else if (layout == H5D_CHUNKED) {
    read_chunking(creation.get(), max_bytes);
  } else {
    fail_damaged(label_);
  }
}

void StoredDataset::read_fill_value(hid_t creation) {
  fill_.assign(type_.size, std::byte{0});
  H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
  if (H5Pfill_value_defined(creation, &defined) < 0) fail_damaged(label_);
  if (defined != H5D_FILL_VALUE_USER_DEFINED) return;
  const TypeId type(H5Dget_type(object_.get()));
  if (!type.valid() || H5Tget_size(type.get()) != type_.size ||
      H5Pget_fill_value(creation, type.get(), fill_.data()) < 0) {
    fail_damaged(label_);
  }
}

void StoredDataset::read_contiguous(std::span<const std::byte> image) {
  const hsize_t stored = H5Dget_storage_size(object_.get());
  if (stored == 0 || size_ == 0) return;
  const auto want = static_cast<hsize_t>(size_) * type_.size;
  if (stored != want) {
    throw DataError(fmt::format("{} is damaged: {} bytes are stored, its shape needs {}", label_,
                                stored, want));
  }
  const haddr_t address = H5Dget_offset(object_.get());
  if (address == HADDR_UNDEF) fail_damaged(label_);
  if (address > image.size() || stored > image.size() - address) {
    throw DataError(fmt::format("{} is damaged: its data lies outside the file (at byte {} of {})",
                                label_, address, image.size()));
  }
  data_ = image.subspan(static_cast<std::size_t>(address), static_cast<std::size_t>(stored));
}

void StoredDataset::read_compact() {
  const hsize_t stored = H5Dget_storage_size(object_.get());
  const auto want = static_cast<hsize_t>(size_) * type_.size;
  if (stored != want) {
    throw DataError(fmt::format("{} is damaged: {} bytes are stored, its shape needs {}", label_,
                                stored, want));
  }
  if (want == 0) return;
  compact_.resize(static_cast<std::size_t>(want));
  const TypeId type(H5Dget_type(object_.get()));
  // The file's own type as the memory type: nothing is converted.
  if (H5Dread(object_.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, compact_.data()) < 0) {
    fail_damaged(label_);
  }
  data_ = compact_;
}

void StoredDataset::read_chunking(hid_t creation, Index max_bytes) {
  if (size_ == 0) return;
  chunked_ = true;
  std::array<hsize_t, kMostAxes> extents = {};
  const int rank = H5Pget_chunk(creation, kMostAxes, extents.data());
  if (rank < 0) fail_damaged(label_);
  if (rank != static_cast<int>(shape_.size())) {
    throw DataError(fmt::format("{} is damaged: chunks of rank {} for a tensor of rank {}", label_,
                                rank, shape_.size()));
  }
  Index count = 1;
  for (std::size_t i = 0; i < shape_.size(); ++i) {
    if (extents[i] == 0 || extents[i] > static_cast<hsize_t>(max_bytes)) {
      throw DataError(fmt::format("{} is damaged: a chunk has extent {}", label_, extents[i]));
    }
    const auto extent = static_cast<Index>(extents[i]);
    chunks_.extents.push_back(extent);
    // Never wraps: both factors are at most the number of elements, which is under the limit.
    count *= shape_[i] / extent + (shape_[i] % extent != 0 ? 1 : 0);
  }
  constexpr Index kMostChunks = 1000000;
  if (count > kMostChunks) {
    throw DataError(fmt::format("{} is cut into {} chunks, over the limit of {}", label_,
                                grouped(count), grouped(kMostChunks)));
  }
  const auto elements = checked_product(chunks_.extents);
  const auto bytes =
      elements ? checked_mul(*elements, static_cast<Index>(type_.size)) : std::nullopt;
  constexpr Index kUsualChunk = Index{64} << 20;
  const Index data_bytes = size_ * static_cast<Index>(type_.size);
  const Index most =
      std::max(kUsualChunk, data_bytes <= max_bytes / 4 ? 4 * data_bytes : max_bytes);
  if (!bytes || *bytes > std::min(most, max_bytes)) {
    throw DataError(fmt::format("{}: a chunk of shape {} for {} of data; refused", label_,
                                shape_text(chunks_.extents), short_size_text(data_bytes)));
  }
  chunks_.bytes = static_cast<std::size_t>(*bytes);
  chunks_.filters = chunk_filters(creation, label_);
  unsigned options = 0;
  if (H5Pget_chunk_opts(creation, &options) < 0) fail_damaged(label_);
  chunks_.whole_edges_filtered = (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) == 0;
}

}  // namespace attn
