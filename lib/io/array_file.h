#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.h"
#include "io/byte_source.h"
#include "io/dataset_info.h"
#include "io/hdf5_contents.h"
#include "io/npy_header.h"
#include "io/read_budget.h"
#include "io/zip_archive.h"

namespace attn {

/// Arrays outside of HDF5, read by name as Hdf5Reader reads datasets: a NumPy .npz (each array
/// under its key, "/q"; keys with slashes are groups), a lone .npy or numbers as text (both as
/// "/array"). Of an .npz, arrays of one number or text at the top are the file's attributes too
/// (causal, scale, layout ...). A mapped file is not read whole: stored arrays are converted from
/// where they lie, deflated ones unpacked when they are looked at.
class ArrayFile {
 public:
  /// What a lone array is called.
  static constexpr const char* kOnly = "/array";

  /// True where the bytes begin as a .npy or .npz does.
  static bool takes(std::span<const std::byte> bytes);

  /// Throws DataError for damage, and for a zip archive of something else by its name (a PyTorch
  /// file is a pickle, which is never loaded).
  ArrayFile(ByteSource source, const ReadLimits& limits);
  /// Rows of numbers as text (io/tensor_argument.h).
  static ArrayFile from_text(ByteSource source, const ReadLimits& limits);

  const std::string& name() const { return source_.name(); }
  bool has_dataset(std::string_view path) const;
  bool has_group(std::string_view path) const;
  DatasetInfo info(std::string_view path) const;
  template <class T>
  Tensor<T> read(std::string_view path) const;
  template <class T>
  void read_rows(std::string_view path, Index first, Index count, T* out) const;
  /// Numbers first .. first + count - 1 in row-major order; false, and nothing read, of an array in
  /// Fortran order.
  template <class T>
  [[nodiscard]] bool read_run(std::string_view path, Index first, Index count, T* out) const;
  /// What it holds, in the archive's order.
  std::vector<std::string> paths() const;
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
  struct Entry {
    std::string path;
    ZipMember member;  // of a lone array: all of the file, stored
    mutable std::optional<NpyHeader> header;
    mutable bool verified = false;
  };

  explicit ArrayFile(ByteSource source, const ReadLimits& limits, Tensor<double> numbers);
  std::string label(const Entry& entry) const;
  const Entry* find(std::string_view path) const;
  const Entry& dataset(std::string_view path) const;
  /// The entry behind an attribute: of one number or text, at the top.
  const Entry* attribute_entry(std::string_view object, const std::string& attribute) const;
  const NpyHeader& header(const Entry& entry) const;
  const NpyHeader& numbers_header(const Entry& entry) const;
  std::span<const std::byte> data(const Entry& entry) const;
  void forget(std::span<const std::byte> part) const;
  std::string text_of(const Entry& entry) const;
  template <class T>
  T one_number(const Entry& entry) const;
  template <class T>
  void convert_run(const Entry& entry, Index first, Index count, T* out) const;
  template <class T>
  void convert_rows(const Entry& entry, Index first, Index count, T* out) const;

  ByteSource source_;
  ReadLimits limits_;
  std::vector<Entry> entries_;
  std::vector<std::byte> made_;  // the .npy of numbers that came as text
  bool zip_ = false;
  mutable ReadBudget budget_;
  // The deflated array that was used last stays unpacked.
  mutable const Entry* unpacked_ = nullptr;
  mutable std::vector<std::byte> unpacked_bytes_;
};

}  // namespace attn
