#pragma once

#include <string>

#include "io/descriptor.h"

namespace attn {

/// A new file that is gone unless it is renamed. Where the file system can, it has no name until
/// then (O_TMPFILE), so that even a killed program leaves nothing behind. Elsewhere it has one from
/// the start and is removed by the destructor, and by SIGINT, SIGTERM and SIGHUP, which then do
/// what they did before. Where a handler was in place that lets the program go on (one that is not
/// reset when it is entered: no SA_RESETHAND), the file stays and the handler is called; whoever
/// ends the program after all calls remove_temporary_files.
class TemporaryFile {
 public:
  enum class Birth { kNamelessIfPossible, kNamed };

  /// `pattern` is a path that ends in XXXXXX. DataError under `name` if it cannot be made.
  TemporaryFile(std::string pattern, const std::string& name,
                Birth birth = Birth::kNamelessIfPossible);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  int descriptor() const { return file_.get(); }
  bool has_name() const { return has_name_; }
  /// Closes it and gives it the name `path`, in the pattern's folder; a file of that name that was
  /// there is replaced.
  void rename_to(const std::string& path, const std::string& name);

 private:
  bool take_name();  // false with errno

  std::string path_;      // the pattern, as long as the file has no name
  int slot_ = -1;         // set while the file is made
  bool has_name_ = true;  // of its own: path_
  Descriptor file_;
};

/// Removes those there are; for a signal handler that ends the program.
void remove_temporary_files();

}  // namespace attn
