#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/dtype.h"
#include "core/tensor.h"
#include "io/hdf5_writer.h"
#include "io/tensor_file.h"

namespace attn {

/// A tensor in memory as a file keeps it.
struct StoredTensor {
  std::string path;  ///< "/q", "/causal_probe/k"
  Shape shape;
  DType type = DType::kF32;
  std::vector<std::byte> bytes;  ///< little-endian, row-major
};

using AttributeValue = std::variant<Index, double, std::string>;

/// Tensors and attributes on their way into a file, whatever its format; in the order of adding.
class TensorSet {
 public:
  struct Attribute {
    std::string object;  ///< "/" is the root
    std::string name;
    AttributeValue value;
  };

  /// Adds a tensor or attribute, or takes the place of the one of that name.
  void put(StoredTensor tensor);
  void put(Attribute attribute);
  /// The same with the numbers of a tensor rounded to `type`. DataError where an integer type does
  /// not hold them.
  void put(std::string_view path, const Tensor<double>& tensor, DType type);
  /// Everything a file holds that can be read: tensors in their own types and single-valued
  /// attributes; of an .npz, arrays of one value are attributes. Text datasets and what is no
  /// number are named in `left_out`.
  void add_all(const TensorFile& file, std::vector<std::string>& left_out);

  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const std::vector<Attribute>& attributes() const { return attributes_; }
  const StoredTensor* find(std::string_view path) const;

  /// As HDF5. The attributes come after those that the writer has already, and win over them.
  void write(Hdf5Writer& writer) const;
  /// As a NumPy archive, stored, the same bytes each time: attributes of the root are arrays of one
  /// value, those of other objects are left out, text with them. bf16 becomes float32, which NumPy
  /// lacks it for.
  std::vector<std::byte> npz() const;

 private:
  std::vector<StoredTensor> tensors_;
  std::vector<Attribute> attributes_;
};

/// One dataset of a file in its own type (integers of up to 64 bits stay exact).
StoredTensor stored_tensor(const TensorFile& file, const std::string& dataset);

/// The numbers of a tensor in another type. DataError ("WHAT: ...") where an integer type does not
/// hold one.
StoredTensor in_type(const StoredTensor& tensor, DType type, const std::string& what);

}  // namespace attn
