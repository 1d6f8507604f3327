#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "io/array_file.h"
#include "io/hdf5_reader.h"

namespace attn {

/// A file of tensors of any kind that is read, told apart by how its bytes begin and never by its
/// name: HDF5, NumPy .npz or .npy, or numbers as text. Members are those of Hdf5Reader;
/// array_file.h says what the datasets and attributes of NumPy's files are called.
class TensorFile {
 public:
  /// Opens a file, a FIFO, or stdin for "-".
  static TensorFile open(const std::string& argument, const ReadLimits& limits = {});
  static TensorFile from_bytes(std::vector<std::byte> bytes, const std::string& name,
                               const ReadLimits& limits = {});

  const std::string& name() const;
  bool is_hdf5() const { return std::holds_alternative<Hdf5Reader>(file_); }
  /// What reads it where it is HDF5, else null.
  const Hdf5Reader* hdf5() const { return std::get_if<Hdf5Reader>(&file_); }
  bool has_dataset(std::string_view path) const;
  bool has_group(std::string_view path) const;
  DatasetInfo info(std::string_view path) const;
  template <class T>
  Tensor<T> read(std::string_view path) const {
    return std::visit([&](const auto& file) { return file.template read<T>(path); }, file_);
  }
  template <class T>
  void read_rows(std::string_view path, Index first, Index count, T* out) const {
    std::visit([&](const auto& file) { file.read_rows(path, first, count, out); }, file_);
  }
  /// Numbers first .. first + count - 1 in row-major order. Where the file does not keep them in
  /// one piece, the rows of the first axis around them are read.
  template <class T>
  void read_run(std::string_view path, Index first, Index count, T* out) const;
  /// The readable datasets: of an archive in its own order, of HDF5 (which keeps none) in the order
  /// of computation (computation_order.h).
  std::vector<std::string> datasets_in_order() const;
  std::vector<std::string> children(std::string_view group, Index most = 100000) const;
  FileContents contents(Index most = 10000) const;
  std::string only_dataset(const std::string& advice = {}) const;

  std::optional<Index> int_attribute(std::string_view object, const std::string& attribute) const;
  std::optional<double> real_attribute(std::string_view object, const std::string& attribute) const;
  std::optional<std::string> text_attribute(std::string_view object,
                                            const std::string& attribute) const;
  bool has_attribute(std::string_view object, const std::string& attribute) const;
  std::optional<AttributeKind> attribute_kind(std::string_view object,
                                              const std::string& attribute) const;
  std::vector<std::string> attributes(std::string_view object) const;

 private:
  explicit TensorFile(Hdf5Reader reader) : file_(std::move(reader)) {}
  explicit TensorFile(ArrayFile arrays) : file_(std::move(arrays)) {}
  static TensorFile over(ByteSource source, const ReadLimits& limits);

  std::variant<Hdf5Reader, ArrayFile> file_;
};

}  // namespace attn
