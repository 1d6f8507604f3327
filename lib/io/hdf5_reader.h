#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.h"
#include "io/dataset_info.h"
#include "io/hdf5_contents.h"
#include "io/read_budget.h"

namespace attn {

class ByteSource;

/// One HDF5 file, opened from a path or a pipe and read by name. Nothing in the file is trusted:
/// every size is checked against the bytes that are there and against the limits before memory is
/// taken, links that leave the file and virtual or external data are refused, and chunks are
/// decoded by this project's own code. Every complaint is a DataError that names the input and the
/// object. A reader belongs to one thread.
class Hdf5Reader {
 public:
  /// Opens a file, a FIFO, or stdin for "-". Throws UsageError for a terminal, DataError for what
  /// is missing, empty, truncated, over the limit, or not HDF5.
  static Hdf5Reader open(const std::string& argument, const ReadLimits& limits = {});
  /// The same for an input that is open already.
  static Hdf5Reader over(ByteSource source, const ReadLimits& limits = {});
  /// The same for bytes in memory; `name` is what messages call them.
  static Hdf5Reader from_bytes(std::vector<std::byte> bytes, const std::string& name,
                               const ReadLimits& limits = {});

  Hdf5Reader(Hdf5Reader&&) noexcept;
  Hdf5Reader& operator=(Hdf5Reader&&) noexcept;
  ~Hdf5Reader();

  /// The input as messages call it: its path, or "stdin".
  const std::string& name() const;

  /// True where the path leads to a dataset (of whatever type).
  bool has_dataset(std::string_view path) const;
  bool has_group(std::string_view path) const;

  /// Shape and type. Throws DataError unless it is a dataset of numbers that can be read.
  DatasetInfo info(std::string_view path) const;

  /// The whole dataset as T: float, double, int64, uint64, int32 or uint8, from any stored number
  /// type. Integers stay exact; a number that an integer T cannot hold is a DataError; floats round
  /// (to infinity where they leave T's range, as IEEE 754 has it).
  template <class T>
  Tensor<T> read(std::string_view path) const;

  /// Rows first .. first + count - 1 along the first axis, into `out`, which holds
  /// count * (size / shape[0]) numbers. Does not count towards max_bytes.
  template <class T>
  void read_rows(std::string_view path, Index first, Index count, T* out) const;

  /// True where the file holds the dataset in one piece, in row-major order, so that any part of it
  /// can be read by itself.
  bool in_one_piece(std::string_view path) const;
  /// Of a dataset in one piece: `runs` runs of `run` numbers, `stride` apart, from number `first`
  /// on, into `out`. What was read is let go again, so that a mapped file takes no memory. Does not
  /// count towards max_bytes.
  void read_runs(std::string_view path, Index first, Index run, Index stride, Index runs,
                 double* out) const;

  /// Names in one group, sorted by bytes. DataError if there are more than `most`.
  std::vector<std::string> children(std::string_view group, Index most = 100000) const;

  /// What the file holds, at most `most` objects. Runs in a child process with limits: on a
  /// hostile file, listing is the riskiest thing to do.
  FileContents contents(Index most = 10000) const;

  /// The path of the one dataset of numbers, apart from dimension scales; DataError that names what
  /// there is when there are more or none, with `advice` (a hint) how one of several is chosen.
  std::string only_dataset(const std::string& advice = {}) const;

  /// Attributes of an object ("/" is the root); nothing where the attribute or object is not
  /// there. Any integer or float width, scalar or an array of one; text fixed or variable.
  /// DataError where the attribute is of another kind (a fraction for an integer too).
  std::optional<Index> int_attribute(std::string_view object, const std::string& attribute) const;
  std::optional<double> real_attribute(std::string_view object, const std::string& attribute) const;
  std::optional<std::string> text_attribute(std::string_view object,
                                            const std::string& attribute) const;
  /// One-dimensional arrays (a scalar is an array of one).
  std::optional<std::vector<Index>> int_array_attribute(std::string_view object,
                                                        const std::string& attribute) const;
  std::optional<std::vector<double>> real_array_attribute(std::string_view object,
                                                          const std::string& attribute) const;
  /// True where the object carries the attribute, of whatever type.
  bool has_attribute(std::string_view object, const std::string& attribute) const;
  /// What an attribute holds; nothing where the attribute or object is not there.
  std::optional<AttributeKind> attribute_kind(std::string_view object,
                                              const std::string& attribute) const;
  /// Names of an object's attributes, in order of name; none where the object is not there.
  std::vector<std::string> attributes(std::string_view object) const;

 private:
  struct Impl;
  explicit Hdf5Reader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace attn
