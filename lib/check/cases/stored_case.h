#pragma once

#include <map>
#include <memory>
#include <string>

#include "check/cases/case_attributes.h"
#include "check/cases/case_part.h"
#include "check/cases/case_source.h"

namespace attn {

/// A case that stays in its file: rows are read, from wherever the file's layout has them, as they
/// are checked. For tensors that an HDF5 file holds in one piece each, which is what most writers
/// do unless they compress.
class StoredCase : public PartedCase {
 public:
  /// Tensors of fewer numbers than this together are read whole: 32 MiB of float64.
  static constexpr Index kLeastNumbers = Index{1} << 22;

  /// Null where the case can only be read whole: small, in chunks, from elsewhere than one HDF5
  /// file, or with gradients. Throws as read_case does. Takes the file only where it succeeds.
  static std::unique_ptr<StoredCase> open(TensorFile& file, const CaseAttributes& attributes,
                                          const CaseNames& names, const ReadLimits& limits = {},
                                          Index least_numbers = kLeastNumbers);

  const AttentionCase& outline() const override { return outline_; }
  AttentionCase part(const CasePart& part) const override;

 private:
  StoredCase(TensorFile file, std::map<std::string, std::string> paths, AttentionCase outline);
  /// A box of a tensor whose (batch, heads, rows, columns) are `shape`; maps have heads first in
  /// every layout.
  Tensor<double> box(const std::string& name, const Shape& shape, TensorLayout layout,
                     const Shape& first, const Shape& extents) const;

  TensorFile file_;
  std::map<std::string, std::string> paths_;  // of the tensors that were left in the file
  AttentionCase outline_;
};

}  // namespace attn
