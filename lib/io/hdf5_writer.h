#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/tensor.h"

namespace attn {

/// The bytes of a finished HDF5 file.
class Hdf5Image {
 public:
  Hdf5Image(std::byte* data, std::size_t size) : data_(data, std::free), size_(size) {}
  std::span<const std::byte> bytes() const { return {data_.get(), size_}; }
  operator std::span<const std::byte>() const { return bytes(); }

 private:
  std::unique_ptr<std::byte, decltype(&std::free)> data_;
  std::size_t size_;
};

/// Builds an HDF5 file in memory: earliest format, contiguous little-endian data, fixed-length
/// text, no times, so that the same calls give the same bytes. Groups on the way to a path are made
/// as needed; dots are part of a name ("/parameters/blocks.0.attn.q_proj.weight").
class Hdf5Writer {
 public:
  Hdf5Writer();
  Hdf5Writer(Hdf5Writer&&) noexcept;
  Hdf5Writer& operator=(Hdf5Writer&&) noexcept;
  ~Hdf5Writer();

  void group(std::string_view path);

  /// T: float, double, int64, int32 or uint8. `values` are shape's product in row-major order.
  template <class T>
  void dataset(std::string_view path, const Shape& shape, const T* values);
  template <class T>
  void dataset(std::string_view path, const Tensor<T>& tensor) {
    dataset(path, tensor.shape, tensor.data());
  }
  /// The same for numbers that are bytes already, little-endian, of any type.
  void dataset(std::string_view path, const Shape& shape, DType type,
               std::span<const std::byte> values);
  /// A one-dimensional dataset of text, each value ended and padded with NULs.
  void labels(std::string_view path, const std::vector<std::string>& values);

  /// Attributes of an object that was made before ("/" is the root); an attribute that is there
  /// is replaced. Each holds at most 32 KiB.
  void attribute(std::string_view object, const std::string& name, Index value);
  void attribute(std::string_view object, const std::string& name, int value) {
    attribute(object, name, Index{value});
  }
  void attribute(std::string_view object, const std::string& name, double value);
  void attribute(std::string_view object, const std::string& name, std::string_view value);
  void attribute(std::string_view object, const std::string& name, const char* value) {
    attribute(object, name, std::string_view(value));
  }
  void attribute(std::string_view object, const std::string& name, std::span<const Index> values);
  void attribute(std::string_view object, const std::string& name, std::span<const double> values);

  /// Labels one axis of a dataset with another, one-dimensional dataset (HDF5 dimension scales),
  /// so that ncdump, xarray and plotters know what the axis means. `name` is the axis' name.
  void scale(std::string_view dataset, Index axis, std::string_view scale_dataset,
             const std::string& name);

  /// Adds the root attributes `content_digest` (over names, shapes, numbers and attributes) and
  /// `image_digest` (over all bytes), both XXH3-128, filled in by finish(). A reader refuses the
  /// file when it has changed. To be called before the first dataset: the digests stand near the
  /// start of the file, where a reader finds them without parsing it.
  void digest();

  /// The whole file. The writer is empty afterwards.
  Hdf5Image finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace attn
