#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/tensor.h"
#include "io/tensor_file.h"

namespace attn {

/// Where a dataset stands under another name: "q" -> "/layer0/query".
using CaseNames = std::map<std::string, std::string>;

/// Where the tensors of a case come from: a file whose datasets may have other names, with single
/// tensors from elsewhere beside it, or options alone.
class CaseSource {
 public:
  /// A file. A name in `names` is a dataset of it, else what tensor_argument takes: another file
  /// or numbers. Both must outlive the source.
  CaseSource(const TensorFile& file, const CaseNames& names, const ReadLimits& limits = {});
  /// Options: each value is what tensor_argument takes.
  CaseSource(const CaseNames& arguments, const ReadLimits& limits);

  struct Found {
    Tensor<double> tensor;
    DType type = DType::kF64;  ///< it was stored in
  };

  bool has_file() const { return file_ != nullptr; }
  const std::string& file_name() const { return file_->name(); }
  /// True where the tensor is there, or somebody named it.
  bool has(const std::string& name) const;
  std::optional<Found> find(const std::string& name) const;
  /// As find; throws where it is not there.
  Found require(const std::string& name) const;
  /// The path of a tensor that is a dataset of the file itself; nothing for others.
  std::optional<std::string> in_file(const std::string& name) const;
  /// From now on these are found as a shape alone, without values.
  void leave_in_file(std::vector<std::string> names) { left_in_file_ = std::move(names); }
  /// Whole numbers along one axis; empty where there are none.
  std::vector<Index> integers(const std::string& name) const;
  /// Numbers along one axis; empty where there are none.
  std::vector<double> numbers(const std::string& name) const;

  Index max_bytes() const { return limits_.max_bytes; }

  /// Ends the reading: DataError "case.h5: q: WHAT", or UsageError "--q: WHAT" of options.
  [[noreturn]] void complain(const std::string& name, const std::string& what) const;

 private:
  std::string path(const std::string& name) const;
  Found elsewhere(const std::string& name, const std::string& value) const;

  const TensorFile* file_ = nullptr;
  const CaseNames& names_;
  ReadLimits limits_;
  std::vector<std::string> left_in_file_;
};

/// "--kv-lens", "--causal-probe-k": the option that names a dataset.
std::string dataset_option_name(const std::string& dataset);

}  // namespace attn
