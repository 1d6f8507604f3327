#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/safetensors.h"

namespace attn {

/// A tensor and the file it stands in.
struct SafetensorsPlace {
  const SafetensorsFile* file = nullptr;
  const SafetensorsEntry* entry = nullptr;
};

/// All tensors of a model as Hugging Face's library stores them: one model.safetensors, or the
/// files that model.safetensors.index.json names.
class SafetensorsFolder {
 public:
  /// Of a folder. Throws DataError where neither is there, for an index that is broken, names a
  /// file by more than a bare name (nothing outside of the folder is opened) or puts a tensor where
  /// it is not, for a tensor that no index knows or that stands in two files, and what
  /// SafetensorsFile refuses. max_bytes: of all files together.
  static SafetensorsFolder open(const std::string& folder, Index max_bytes);
  /// Of one file, whatever its name; "-" is stdin.
  static SafetensorsFolder open_file(const std::string& argument, Index max_bytes);
  static SafetensorsFolder of(SafetensorsFile file);

  /// In order of the files' names, and of their headers.
  const std::vector<SafetensorsPlace>& tensors() const { return tensors_; }
  /// What messages call all of it: the one file, or the index.
  const std::string& name() const { return name_; }
  /// Null where there is none of that name.
  const SafetensorsPlace* find(std::string_view name) const;

 private:
  void add(SafetensorsFile file);

  std::string name_;
  std::vector<std::unique_ptr<const SafetensorsFile>> files_;
  std::vector<SafetensorsPlace> tensors_;
  std::unordered_map<std::string_view, std::size_t> by_name_;  // in tensors_
};

/// The bytes of FOLDER/NAME, which must be a regular file: a pipe in a folder is a trap.
ByteSource open_in_folder(const std::string& folder, const std::string& name, Index max_bytes);

}  // namespace attn
